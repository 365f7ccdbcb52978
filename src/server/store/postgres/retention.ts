// biome-ignore lint/suspicious/noExplicitAny: to be written
export function retentionStore(..._given: unknown[]): any {
  return {};
}
