// biome-ignore lint/suspicious/noExplicitAny: to be written
export function operationsStore(..._given: unknown[]): any {
  return {};
}
