import type { Client } from '../client/client.ts';
import { allRobots } from './find-one.ts';
import type { Output } from './output.ts';

/** Names of robots by id, for a person; programs go by the id, and nothing is asked for them. */
export async function robotNames(client: Client, output: Output): Promise<(id: string) => string> {
  if (!output.isTerminal || output.asksJson) return (id) => id;
  const names = new Map((await allRobots(client)).map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}
