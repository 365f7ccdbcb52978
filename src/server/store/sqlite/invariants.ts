import type { Database } from 'better-sqlite3';
export function checkInvariants(_db: Database): { invariant: string; violations: string[] }[] {
  return [];
}
