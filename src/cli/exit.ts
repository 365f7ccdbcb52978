/** What a command's exit code means; the same for every command. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notVerified: 3,
  unreachable: 7,
} as const;

const codesOfErrors: Readonly<Record<string, number>> = {
  usage: exitCodes.usage,
  chain_unavailable: exitCodes.unreachable,
  service_unreachable: exitCodes.unreachable,
};

export function exitCodeOf(errorCode: string): number {
  return codesOfErrors[errorCode] ?? exitCodes.failed;
}
