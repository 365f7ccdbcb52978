// The dependencies of the published package: what the bundles of the programs do not contain, and what the library uses.

/** Native, so that each machine needs its own. `svc` runs without it, and so does `svc-server` on PostgreSQL. */
export const native = 'better-sqlite3';

/** The local chain of `svc-server dev` and `demo`, which the user installs. */
export const localChain = '@foundry-rs/anvil';

/** undici has no dependencies. */
export const unbundled = ['undici'];

/** The library is not bundled. */
export const ofLibrary = ['@noble/curves', '@noble/hashes', 'typebox'];
