import { useQuery } from '@tanstack/react-query';
import { chainQuery } from '../queries.ts';
import { Command } from './copy.tsx';

/** The command that checks `subject` (a file, or a hash and its options) with a node of the reader's choice. */
export function VerifyCommand({ subject }: { subject: string }) {
  const { data: chain } = useQuery(chainQuery);
  const rpcUrl = chain?.params.rpcUrls[0] ?? 'https://rpc.example.org';
  return <Command value={`svc verify ${subject} --rpc-url ${rpcUrl}`} what="command" />;
}
