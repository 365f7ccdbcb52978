import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { Hex } from '../../src/proof/bytes.ts';
import { hashProof } from '../../src/proof/hash.ts';
import type { JsonObject } from '../../src/proof/json-value.ts';
import { hashText, joinSignature } from '../../src/proof/statements/jws.ts';
import {
  grantText,
  type KeyGrant,
  type KeyRevocation,
  kidOf,
  revocationText,
} from '../../src/proof/statements/key-text.ts';
import {
  algorithmOf,
  type PublicKey,
  thumbprintOf,
} from '../../src/proof/statements/public-key.ts';
import {
  contentHash,
  type Statement,
  statementText,
  type TaskContent,
} from '../../src/proof/statements/statement.ts';
import type { Owner, TestRobot, TestService } from './service.ts';

const ORDER_256 = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** A key pair that a robot signs with. */
export interface Signer {
  publicKey: PublicKey;
  sign(text: string): Uint8Array;
}

export function newSigner(algorithm: 'Ed25519' | 'ES256' = 'Ed25519'): Signer {
  const { publicKey, privateKey } =
    algorithm === 'Ed25519'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    publicKey: publicKey.export({ format: 'jwk' }) as PublicKey,
    sign: (text) =>
      algorithm === 'Ed25519'
        ? sign(null, Buffer.from(text), privateKey)
        : signEs256(text, privateKey),
  };
}

/** With the lower of the two values of s, as statements need it. */
function signEs256(text: string, key: KeyObject): Uint8Array {
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  const s = BigInt(`0x${signature.subarray(32).toString('hex')}`);
  if (s <= ORDER_256 / 2n) return signature;
  const low = (ORDER_256 - s).toString(16).padStart(64, '0');
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(low, 'hex')]);
}

type Task = TaskContent & { id: string };

/** Signs statements in order, as the agent does. */
export class SigningRobot {
  readonly id: string;
  readonly kid: string;
  readonly signer: Signer;
  epoch: string = randomUUID();
  number: number;
  prev: Hex | null = null;

  constructor(id: string, kid: string, signer: Signer, firstNumber = 1) {
    this.id = id;
    this.kid = kid;
    this.signer = signer;
    this.number = firstNumber;
  }

  claim(task: Task, changes: object = {}): string {
    return this.#statement(task, { type: 'claim', ...changes });
  }

  result(task: Task, proof: JsonObject, changes: object = {}): string {
    const result = { type: 'result', proof_hash: hashProof(proof), outcome: 'succeeded' };
    return this.#statement(task, { ...result, ...changes });
  }

  /** With the number of the last statement, which stays the last one. */
  again(sign: () => string, changes: { epoch?: string } = {}): string {
    const { number, prev, epoch } = this;
    this.number -= 1;
    this.epoch = changes.epoch ?? epoch;
    const text = sign();
    Object.assign(this, { number, prev, epoch });
    return text;
  }

  #statement(task: Task, changes: object): string {
    const statement = {
      robot_id: this.id,
      task_id: task.id,
      epoch: this.epoch,
      number: this.number,
      prev: this.prev,
      content_hash: contentHash(task),
      time: '2026-11-28T09:00:00.000Z',
      clock_synchronized: true,
      ...changes,
    } as Statement;
    const signed = statementText(
      { alg: algorithmOf(this.signer.publicKey), kid: this.kid },
      statement,
    );
    this.number = statement.number + 1;
    this.prev = hashText(signed);
    return joinSignature(signed, this.signer.sign(signed));
  }
}

/** The text that puts the robot's proposed key into use. */
export function grantOf(
  identity: Identity,
  signer: Signer,
  changes: Partial<KeyGrant> = {},
): string {
  return grantText({
    ...ownerOf(identity),
    algorithm: algorithmOf(signer.publicKey),
    thumbprint: thumbprintOf(signer.publicKey),
    first_number: identity.next_number,
    predecessor: identity.keys.at(-1)?.kid ?? null,
    ...changes,
  });
}

/** The text that takes the newest key of the robot out of use. */
export function revocationOf(identity: Identity, changes: Partial<KeyRevocation> = {}): string {
  const { keys, last } = identity;
  return revocationText({
    ...ownerOf(identity),
    kid: keys.at(-1)?.kid ?? '',
    last: last && { number: last.number, hash: last.signed_hash },
    ...changes,
  });
}

/** The identity of a robot as the service answers it. */
export interface Identity {
  origin: string;
  wallet: string;
  robot_id: string;
  next_number: number;
  last: { number: number; signed_hash: Hex } | null;
  keys: readonly { kid: string }[];
}

function ownerOf({ origin, wallet, robot_id }: Identity) {
  return { origin, wallet: wallet.toLowerCase() as Hex, robot_id };
}

/** The calls of robot and owner that concern the robot's key. */
export function keyCalls(service: TestService, owner: Owner, robot: TestRobot) {
  const path = `/api/v1/robots/${robot.id}/identity`;
  const session = { session: owner.session };
  return {
    propose: (key: unknown) =>
      service.call('POST', '/api/v1/identity', {
        apiKey: robot.apiKey,
        body: { public_key: key },
      }),
    read: async () => (await service.call('GET', path, session)).body.identity,
    async sign(text: string, account: Pick<Owner['account'], 'signMessage'> = owner.account) {
      const signature = await account.signMessage({ message: text });
      return service.call('POST', path, { ...session, body: { text, signature } });
    },
  };
}

/** Puts a new key of the robot into use. */
export async function startSigning(
  service: TestService,
  owner: Owner,
  robot: TestRobot,
  signer = newSigner(),
): Promise<SigningRobot> {
  const { propose, sign } = keyCalls(service, owner, robot);
  const { identity } = (await propose(signer.publicKey)).body;
  const text = grantOf(identity, signer);
  const reply = await sign(text);
  if (reply.status !== 200) throw new Error(`No key: ${JSON.stringify(reply.body)}`);
  return new SigningRobot(robot.id, kidOf(text), signer, identity.next_number);
}
