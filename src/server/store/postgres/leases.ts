// biome-ignore lint/suspicious/noExplicitAny: to be written
export function leaseStore(..._given: unknown[]): any {
  return {};
}
