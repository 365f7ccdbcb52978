// What wallets answer when they sign the message of a sign-in.
import {
  hashMessage,
  parseSignature,
  serializeCompactSignature,
  signatureToCompactSignature,
} from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRecovery } from '../../src/chain/signatures.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { approvedCode } from '../support/contract-wallet.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createSvcUser } from '../support/svc.ts';
import { challengeCookie, createWalletCaller } from '../support/wallet-caller.ts';

interface SignIn {
  name: string;
  report: string;
  /** The code at the wallet's address. */
  code?: (message: string) => Hex;
  sign: (account: PrivateKeyAccount, message: string) => Promise<Hex> | Hex;
  holds: 'signed in' | 'invalid_signature';
}

/** The code of an ordinary account that delegates to an address without code (EIP-7702). */
const delegated: Hex = `0xef0100${'12'.repeat(20)}`;

/** The code of a contract that accepts every signature (ERC-1271). */
const agreesToAll: Hex = `0x7f1626ba7e${'00'.repeat(28)}60005260206000f3`;

const signIns: SignIn[] = [
  {
    name: 'a compact signature of an ordinary account',
    report: 'ethers-io/ethers.js 2246',
    sign: compact,
    holds: 'signed in',
  },
  {
    name: 'a compact signature of an ordinary account that delegates',
    report: 'EIP-2098 and EIP-7702',
    code: () => delegated,
    sign: compact,
    holds: 'signed in',
  },
  {
    name: '0x of a Safe that approved the message on chain',
    report: 'safe-global/safe-apps-sdk 237, spruceid/siwe-py 76',
    code: (message) => approvedCode(hashMessage(message)),
    sign: () => '0x',
    holds: 'signed in',
  },
  {
    name: '0x of a Safe that approved another message',
    report: 'spruceid/siwe-py 76',
    code: (message) => approvedCode(hashMessage(`${message}.`)),
    sign: () => '0x',
    holds: 'invalid_signature',
  },
  {
    name: '0x of an ordinary account',
    report: 'own case: any caller can send 0x',
    sign: () => '0x',
    holds: 'invalid_signature',
  },
  {
    name: '0x of an ordinary account that delegates to nothing',
    report: 'own case: EIP-7702',
    code: () => delegated,
    sign: () => '0x',
    holds: 'invalid_signature',
  },
  {
    name: 'one byte that the contract accepts',
    report: 'own case: a sibling of 0x, with the number of a session key',
    code: () => agreesToAll,
    sign: () => '0x01',
    holds: 'signed in',
  },
  {
    name: '64 bytes that only the contract can read',
    report: 'own case: r and s on the curve P-256 of a passkey',
    code: () => agreesToAll,
    sign: () => `0x${'ff'.repeat(64)}`,
    holds: 'signed in',
  },
  {
    name: 'one byte of a Safe that approved the message on chain',
    report: 'own case: the contract must see the bytes as they are',
    code: (message) => approvedCode(hashMessage(message)),
    sign: () => '0x00',
    holds: 'invalid_signature',
  },
];

interface Compact {
  name: string;
  report: string;
  message: string;
  signature: Hex;
  /** Whether the signature is of the key 0x1234567890123456…. */
  isSigned: boolean;
}

const key = `0x${'1234567890'.repeat(7).slice(0, 64)}` as Hex;
const R0 = '68a020a209d3d56c46f38cc50a33f704f4a9a10a59377f8dd762ac66910e9b90';
const R1 = '9328da16089fcba9bececa81663203989f2df5fe1faa6291a45381c81bd17f76';

const compacts: Compact[] = [
  {
    name: 'y parity 0',
    report: 'EIP-2098, first test case',
    message: 'Hello World',
    signature: `0x${R0}7e865ad05c4035ab5792787d4a0297a43617ae897930a6fe4d822b8faea52064`,
    isSigned: true,
  },
  {
    name: 'y parity 1',
    report: 'EIP-2098, second test case',
    message: "It's a small(er) world",
    signature: `0x${R1}939c6d6b623b42da56557e5e734a43dc83345ddfadec52cbe24d0cc64f550793`,
    isSigned: true,
  },
  {
    name: 'the other y parity',
    report: 'own case: a sibling of the second test case',
    message: "It's a small(er) world",
    signature: `0x${R1}139c6d6b623b42da56557e5e734a43dc83345ddfadec52cbe24d0cc64f550793`,
    isSigned: false,
  },
  {
    name: 'an s above half of the order',
    report: 'own case: a sibling of the malleable form',
    message: 'Hello World',
    signature: `0x${R0}ffffffffffffffffffffffffffffffffbaaedce6af48a03bbfd25e8cd0364140`,
    isSigned: false,
  },
];

describe('recoverWallet', () => {
  const { recoverWallet, close } = startRecovery();
  afterAll(close);

  it.each(compacts)('reads 64 bytes with $name', async ({ message, signature, isSigned }) => {
    const wallet = await recoverWallet(message, signature);

    expect(wallet === privateKeyToAccount(key).address).toBe(isSigned);
  });
});

describe('a sign-in', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
  });
  afterAll(() => service.close());

  it.each(signIns)('answers for $name: $holds', async ({ code, sign, holds }) => {
    const owner = createWalletCaller(service);
    const asked = await owner.challenge();
    const { message } = asked.body;
    if (code !== undefined) await service.rpc('anvil_setCode', [owner.address, code(message)]);

    const signature = await sign(owner.account, message);
    const reply = await owner.verify(signature, { cookie: challengeCookie(asked) });

    expect(reply.body).toMatchObject(
      holds === 'signed in' ? { signed_in: true, wallet: owner.address } : { error: holds },
    );
  });

  it('accepts 0x at svc login --manual', async () => {
    const user = await createSvcUser(service.url);
    await service.rpc('anvil_setCode', [user.wallet, agreesToAll]);

    const args = ['login', service.url, '--manual', '--address', user.wallet];
    const { exitCode, stdout } = await user.svc(args, { input: '0x\n' });

    await user.remove();
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`wallet\t${user.wallet}\n`)]);
  });
});

async function compact(account: PrivateKeyAccount, message: string): Promise<Hex> {
  const signature = parseSignature(await account.signMessage({ message }));
  return serializeCompactSignature(signatureToCompactSignature(signature));
}
