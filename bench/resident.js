import { readFile } from 'node:fs/promises';

/** Resident memory of a process in MB, as Linux tells it. */
export async function residentMb(pid) {
  const text = await readFile(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1]) * 1024) / 1e6;
}
