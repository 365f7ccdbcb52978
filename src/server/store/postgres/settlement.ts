// biome-ignore lint/suspicious/noExplicitAny: to be written
export function settlementStore(..._given: unknown[]): any {
  return {};
}
