import { statSync } from 'node:fs';
import Database from 'better-sqlite3';

/**
 * As root, becomes the owner of the folder until the answer is called: a file that root made there could not be
 * written by the agent whose folder it is.
 */
export function becomeOwnerOf(folder: string): () => void {
  const owner = statSync(folder, { throwIfNoEntry: false });
  const { geteuid, getegid, seteuid, setegid } = process;
  if (owner === undefined || geteuid?.() !== 0 || !getegid || !seteuid || !setegid) return () => {};
  // Loads SQLite's native code, which the owner may not be allowed to read where root has it.
  new Database(':memory:').close();
  const group = getegid();
  setegid(owner.gid);
  seteuid(owner.uid);
  return () => {
    seteuid(0);
    setegid(group);
  };
}
