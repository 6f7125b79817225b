/** Header names such as `X-Service-RPC-Credits`, with the configured name of the service. */
export function rpcHeaderNames(serviceName: string): { credits: string; costUsd: string } {
  const name = serviceName
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('-')
  return { credits: `X-${name}-RPC-Credits`, costUsd: `X-${name}-RPC-Cost-USD` }
}
