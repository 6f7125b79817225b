import { expect, test } from 'vitest'
import { matchAnswers } from '../../../../server/domain/rpc/batch-answers.ts'

test.each([
  ['in order', ['1', '2'], ['1', '2'], [0, 1]],
  ['in another order', ['1', '2', '3'], ['3', '1', '2'], [1, 2, 0]],
  ['a string is not a number', ['1', '"1"'], ['"1"', '1'], [1, 0]],
  ['escapes do not matter', ['"\\u0061"'], ['"a"'], [0]],
  ['equal ids are answered in order', ['1', '1'], ['1', '1'], [0, 1]],
  ['ids that the node rounded', ['9007199254740993', '7'], ['7', '9007199254740992'], [1, 0]],
  ['ids beyond any float', ['12345678901234567890'], ['12345678901234567000'], [0]],
  ['a missing one stays missing', ['1', '2', '3'], ['3', '1'], [1, null, 0]],
  ['a missing one never shifts the others', ['1', '2', '3'], ['null', '3'], [null, null, 1]],
  ['unknown ids in full number go by position', ['1', '2'], ['null', 'null'], [0, 1]],
  ['answers without id in full number fill the gaps', ['1', '2'], ['2', null], [1, 0]],
  ['superfluous answers are dropped', ['1'], ['1', '8'], [0]],
  ['nothing', ['1'], [], [null]],
] as const)('%s', (_, requests, answers, expected) => {
  expect(matchAnswers(requests, answers)).toEqual(expected)
})
