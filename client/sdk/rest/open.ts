/** Known values, for completion in editors, and any other string: a newer service may have more. */
export type Open<Known extends string> = Known | (string & {})
