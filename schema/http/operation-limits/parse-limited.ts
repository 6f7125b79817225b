import { type DocumentNode, GraphQLError, type ParseOptions, parse, type Source } from 'graphql'
import { refusal } from '../../errors.ts'

/** Parses with a maximum number of tokens, and adds a code to the parser's errors. */
export function parseLimited(source: string | Source, options: ParseOptions & { maxTokens: number }): DocumentNode {
  try {
    return parse(source, options)
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error
    if (error.message.includes('Document contains more')) {
      throw refusal(
        'QUERY_TOO_LARGE',
        `The document has more than ${options.maxTokens} tokens; split it into several requests`,
      )
    }
    throw new GraphQLError(error.message, {
      source: error.source,
      positions: error.positions,
      extensions: { code: 'GRAPHQL_PARSE_FAILED', http: { status: 400, spec: true } },
    })
  }
}
