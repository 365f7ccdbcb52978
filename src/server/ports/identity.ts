// The store's contract for the keys that robots sign with.
import type { Hex } from '../../proof/bytes.ts';
import type { PublicKey } from '../../proof/statements/public-key.ts';
import type { Actor } from './account.ts';
import type { RobotCaller } from './robots.ts';

/** A text that puts a key into use or out of use, with the wallet's signature. */
export interface SignedKeyText {
  text: string;
  signature: Hex;
  /** When the service got it. */
  signedAt: number;
}

export interface RobotKey {
  kid: string;
  publicKey: PublicKey;
  firstNumber: number;
  /** Statements with a higher number are refused: the key was replaced or revoked. Null without limit. */
  lastNumber: number | null;
  grant: SignedKeyText;
  revocation: SignedKeyText | null;
}

export interface IdentityRecord {
  robotId: string;
  wallet: string;
  proposedKey: PublicKey | null;
  /** Oldest first. */
  keys: RobotKey[];
  /** 1 more than every number that the robot used or that a revocation names. */
  nextNumber: number;
  /** The statement of the newest key with the highest number; the first of them that arrived. */
  last: { number: number; signedHash: Hex; text: string | null } | null;
}

/** What a key text does. `repeated`: it was stored before. */
export type KeyTextDecision =
  | { outcome: 'granted'; key: Pick<RobotKey, 'kid' | 'publicKey' | 'firstNumber'> }
  | { outcome: 'revoked'; kid: string; lastNumber: number }
  | { outcome: 'repeated' }
  | { outcome: 'refused'; reason: string };

export interface NewKeyText {
  robotId: string;
  wallet: string;
  /** The public origin of the service. */
  origin: string;
  text: string;
  /** The caller MUST have checked it. */
  signature: Hex;
  now: number;
}

export interface IdentityStore {
  /** Replaces the proposed key, unless this key is in use. Null if the API key of the call has ended. */
  proposeKey(
    robot: Pick<RobotCaller, 'id' | 'wallet' | 'keyHash'>,
    key: PublicKey,
  ): Promise<IdentityRecord | null>;
  /** Null if the account does not have the robot. */
  getIdentity(robotId: string, wallet: string): Promise<IdentityRecord | null>;
  /** Null if the robot does not have the key. */
  getKey(robotId: string, kid: string): Promise<RobotKey | null>;
  /**
   * Decides by `decideKeyText` and stores what the text does, in one commit. From a first grant on, the store refuses
   * claims and completions without a statement. A grant ends the numbers of the key before it. Null if the account does
   * not have the robot.
   */
  saveKeyText(text: NewKeyText, by?: Actor): Promise<KeyTextDecision | null>;
}
