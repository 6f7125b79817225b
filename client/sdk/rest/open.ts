/** Known values, for completion in editors, and every other text: a newer service may have more. */
export type Open<Known extends string> = Known | (string & {})
