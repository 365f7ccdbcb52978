import { attacks } from './attacks.ts';

/** A process that runs one attack until it is killed: its arguments are the attack and its target as JSON. */
const [name = '', target = ''] = process.argv.slice(2);
const attack = attacks[name];
if (attack === undefined) throw new TypeError(`There is no attack ${name}`);
await attack(JSON.parse(target));
