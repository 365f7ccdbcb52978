import type { Context } from '../context.ts';

/** `svc logout`: the session is forgotten once the service has ended it. */
export async function logout({ config, target, client, output }: Context): Promise<void> {
  const { url, profile } = await target();
  if (profile?.session) {
    await client(url, profile.session).call('signOut');
    const { name, ...kept } = profile;
    const file = await config();
    const { current, profiles } = file.read();
    const ended = { ...kept, session: null, expires_at: null };
    await file.write({ current, profiles: { ...profiles, [name]: ended } });
    output.note(`Signed out of ${url}.`);
  } else {
    output.note(`Nobody was signed in to ${url}.`);
  }
  if (output.asksJson) output.json({ signed_out: true });
}
