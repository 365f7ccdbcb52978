// Hands a session to the command line: a wallet of this browser signs in, its owner allows it, and the code
// goes to 127.0.0.1 alone. Everything that others say is written as text, never as markup.

const query = new URLSearchParams(location.search);
const challenge = query.get('challenge') ?? '';
const state = query.get('state');
const port = query.get('port');
const machine = query.get('name') ?? '';

const byId = (id) => document.getElementById(id);

/** Parts of the page that come and go. */
function show(...ids) {
  for (const id of ['request', 'wallets', 'consent', 'handover']) {
    byId(id).hidden = !ids.includes(id);
  }
}

function tell(text) {
  byId('status').textContent = text;
}

function fail(text) {
  byId('fault').textContent = text;
  byId('fault').hidden = false;
  tell('');
}

/** Whether the command line asked as it does; both of state and port, or, to type the code in, neither. */
function isRequest() {
  if (!/^[\w-]{43}$/.test(challenge)) return false;
  if (state === null && port === null) return true;
  return /^[\w-]{16,128}$/.test(state ?? '') && /^[1-9]\d{0,4}$/.test(port ?? '') && port <= 65535;
}

/** Sends the browser back to the command line, which listens on this machine only. */
function goBack(answer) {
  const target = new URL(`http://127.0.0.1:${port}/callback`);
  target.search = new URLSearchParams({ ...answer, state }).toString();
  location.replace(target.href);
}

/** One request to the service. Throws its message where it refuses. */
async function ask(path, body) {
  const response = await fetch(path, {
    ...(body && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.message), { code: answer.error });
}

/** Wallets announce themselves, early or late (EIP-6963); `found` is told of each once. */
function discoverWallets(found) {
  const known = new Set();
  window.addEventListener('eip6963:announceProvider', ({ detail }) => {
    const { info, provider } = detail ?? {};
    if (typeof provider?.request !== 'function' || known.has(info?.uuid)) return;
    known.add(info?.uuid);
    found(info, provider);
  });
  window.dispatchEvent(new Event('eip6963:requestProvider'));
}

function addWallet(info, provider) {
  const button = document.createElement('button');
  button.type = 'button';
  if (/^data:image\//.test(info?.icon ?? '')) {
    const icon = document.createElement('img');
    icon.src = info.icon;
    icon.alt = '';
    button.append(icon);
  }
  button.append(String(info?.name ?? 'Wallet').slice(0, 80));
  button.addEventListener('click', () => attempt(() => signIn(provider)));
  const item = document.createElement('li');
  item.append(button);
  byId('wallet-list').append(item);
  byId('no-wallet').hidden = true;
}

async function signIn(provider) {
  tell('Waiting for the wallet …');
  const [address] = await provider.request({ method: 'eth_requestAccounts' });
  const chainId = Number(await provider.request({ method: 'eth_chainId' }));
  const { message } = await ask('/api/auth/challenge', { address, chainId });
  const bytes = new TextEncoder().encode(message);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const signature = await provider.request({
    method: 'personal_sign',
    params: [`0x${hex}`, address],
  });
  tell('Signing in …');
  const { wallet } = await ask('/api/auth/verify', { address, signature });
  askForConsent(wallet);
}

function askForConsent(wallet) {
  byId('account').textContent = wallet;
  byId('deny').hidden = port === null;
  show('request', 'consent');
  tell('');
}

async function allow() {
  const { code } = await ask('/api/auth/cli/authorize', { challenge, challenge_method: 'S256' });
  if (port !== null) return goBack({ code });
  byId('code').textContent = code;
  show('handover');
}

/** Runs what a button does, once at a time, and shows what went wrong. */
async function attempt(work) {
  const buttons = document.querySelectorAll('button');
  for (const button of buttons) button.disabled = true;
  byId('fault').hidden = true;
  try {
    await work();
  } catch (error) {
    if (error.code === 'invalid_session' || error.code === 'missing_session') askForWallet();
    // 4001: EIP-1193, the person refused.
    fail(error.code === 4001 ? 'The wallet was told no. Try again.' : error.message);
  } finally {
    for (const button of document.querySelectorAll('button')) button.disabled = false;
  }
}

function askForWallet() {
  show('request', 'wallets');
  tell('');
}

async function start() {
  if (!isRequest()) {
    fail('This link is not complete. Start again with svc login.');
    return;
  }
  const plain = machine.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 80);
  byId('machine').textContent = plain || '(no name)';
  byId('check').textContent = challenge.slice(0, 8);
  byId('allow').addEventListener('click', () => attempt(allow));
  byId('deny').addEventListener('click', () => goBack({ error: 'access_denied' }));
  byId('other').addEventListener('click', askForWallet);
  discoverWallets(addWallet);
  try {
    askForConsent((await ask('/api/v1/me')).wallet);
  } catch {
    askForWallet();
  }
}

start();
