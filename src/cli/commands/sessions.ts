import type { Client } from '../../client/client.ts';
import type { Context } from '../context.ts';
import { pickOne } from '../find-one.ts';
import { readPages } from '../read-pages.ts';
import { showTime } from '../show-time.ts';

/** `svc sessions list` */
export async function listSessions({ session, output }: Context): Promise<void> {
  const { client } = await session();
  const page = await allSessions(client);
  await output.table(page, page.items, [
    { title: 'id', value: (s) => s.id },
    { title: 'opened with', value: (s) => s.signed_in_with },
    { title: 'since', value: (s) => s.created_at, shown: (s) => showTime(s.created_at) },
    { title: 'until', value: (s) => s.expires_at, shown: (s) => showTime(s.expires_at) },
    { title: 'this one', value: (s) => (s.current ? 'yes' : 'no') },
  ]);
}

/** `svc sessions revoke SESSION` */
export async function revokeSession(
  { session, output }: Context,
  { session: text }: { session: string },
): Promise<void> {
  const { client } = await session();
  const { id, current } = pickOne('session', text, (await allSessions(client)).items);
  const { body } = await client.call('revokeSession', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(current ? 'Ended this very session.' : `Ended the session ${id}.`);
}

function allSessions(client: Client) {
  return readPages((query) => client.call('listSessions', { query }));
}
