// Signs in with a fresh wallet and prints the session for a shell. It needs `npm install robot-svc viem`.
//   eval "$(node examples/sign-in.js http://127.0.0.1:3000)"
import { createClient } from 'robot-svc';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

const url = process.argv[2] ?? 'http://127.0.0.1:3000';
const wallet = privateKeyToAccount(generatePrivateKey());
const guest = createClient({ baseUrl: url, fetch });

const challenge = await guest.call('createChallenge', { body: { address: wallet.address } });
const signature = await wallet.signMessage({ message: challenge.body.message });
const signedIn = await guest.call('verifySignature', {
  body: { address: wallet.address, signature },
});
const session = /svc_session=([^;]+)/.exec(signedIn.headers.getSetCookie().join('\n'))?.[1];

process.stdout.write(`export URL=${url} SESSION=${session}\n`);
