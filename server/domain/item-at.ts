/** The item at an index that exists by construction, such as the one row of a statement that always returns one. */
export function itemAt<Item>(items: readonly Item[], index: number): Item {
  const item = items[index]
  if (item === undefined) throw new RangeError(`item ${index} is missing, of ${items.length}`)
  return item
}
