// biome-ignore lint/suspicious/noExplicitAny: to be written
export function telemetryStore(..._given: unknown[]): any {
  return {};
}
