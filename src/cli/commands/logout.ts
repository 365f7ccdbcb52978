import type { Config } from '../config-file.ts';
import type { Context } from '../context.ts';
import type { NamedProfile } from '../profiles.ts';

/** `svc logout`: the session is forgotten once the service has ended it. */
export async function logout({ config, target, client, output }: Context): Promise<void> {
  const { url, profile } = await target();
  if (profile?.session) {
    await client(url, profile.session).call('signOut');
    const file = await config();
    await file.update((now) => withoutSession(now, profile));
    output.note(`Signed out of ${url}.`);
  } else {
    output.note(`Nobody was signed in to ${url}.`);
  }
  if (output.asksJson) output.json({ signed_out: true });
}

/** Somebody may have signed in again, or removed the profile, meanwhile. */
function withoutSession(config: Config, { name, session }: NamedProfile): Config {
  const profile = Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
  if (profile === undefined || profile.session !== session) return config;
  const ended = { ...profile, session: null, expires_at: null };
  return { ...config, profiles: { ...config.profiles, [name]: ended } };
}
