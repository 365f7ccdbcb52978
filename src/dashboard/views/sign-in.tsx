// The sign-in view: choose a wallet and sign the message.
import '@mantine/core/styles/List.css';
import { Alert, Button, List, Loader, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { type Query, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { Link } from 'wouter';
import { Brand, ColorSchemeButton } from '../public-shell.tsx';
import { accountQuery, chainQuery } from '../queries.ts';
import { Problem } from '../ui/states.tsx';
import { type SignInStep, signIn } from '../wallet/sign-in.ts';
import { rememberWallet, useWallets, type Wallet } from '../wallet/wallets.ts';
import './sign-in.css';

const steps: Record<SignInStep, string> = {
  connecting: 'Waiting for the wallet to connect …',
  signing: 'Read the message in the wallet, and sign it …',
  verifying: 'Checking the signature …',
};

/** `endedFor`: the wallet whose session ended while a view was open. */
export default function SignIn({ endedFor }: { endedFor?: string | undefined }) {
  const wallets = useWallets();
  const queries = useQueryClient();
  const [step, setStep] = useState<SignInStep>('connecting');
  useDocumentTitle('Sign in · svc');
  const canceling = useRef(new AbortController());
  const attempt = useMutation({
    mutationFn(wallet: Wallet) {
      canceling.current = new AbortController();
      return signIn(wallet, setStep, canceling.current.signal);
    },
    onSuccess(reply, wallet) {
      rememberWallet(wallet);
      // No data of the previous account may be shown to the new one.
      if (reply.wallet !== endedFor) queries.removeQueries({ predicate: isOfAccount });
    },
  });
  return (
    <div className="sign-in">
      <header className="sign-in-header">
        <Brand />
        <ColorSchemeButton />
      </header>
      <main className="sign-in-card card">
        <Title order={1} size="h2">
          Sign in
        </Title>
        <Text size="md" c="dimmed" mt={4} mb="lg">
          Your wallet is your account. Signing a message is free and sends no transaction.
        </Text>
        {endedFor !== undefined && !attempt.isPending && !attempt.isError && (
          <Alert color="yellow" mb="md" role="status">
            Your session has ended. Sign in again to continue.
          </Alert>
        )}
        <Problem of={attempt} mb="md" title="Not signed in" />
        {wallets.length === 0 ? (
          <NoWallet />
        ) : (
          <ul className="wallets" aria-label="Wallets in this browser">
            {wallets.map((wallet) => (
              <li key={wallet.info.uuid}>
                <button
                  type="button"
                  className="wallet"
                  disabled={attempt.isPending}
                  onClick={() => attempt.mutate(wallet)}
                >
                  <WalletIcon {...wallet.info} />
                  <span>{wallet.info.name.slice(0, 80)}</span>
                  {attempt.isPending && attempt.variables === wallet && (
                    <Loader size="xs" ml="auto" />
                  )}
                </button>
              </li>
            ))}
          </ul>
        )}
        <Text c="dimmed" mt="md" role="status">
          {attempt.isPending ? steps[step] : <Network />}
        </Text>
        {attempt.isPending && step !== 'verifying' && (
          <Button mt="sm" onClick={() => canceling.current.abort()}>
            Cancel
          </Button>
        )}
      </main>
      <Text c="dimmed" ta="center" component="footer">
        svc anchors proofs of robot work on a public chain, where{' '}
        <Link href="/verify">anyone can verify them</Link>.
      </Text>
    </div>
  );
}

function isOfAccount({ queryKey }: Query): boolean {
  return ![accountQuery, chainQuery].some((kept) => kept.queryKey[0] === queryKey[0]);
}

/** The icon, if it is a data URL as EIP-6963 requires. */
function WalletIcon({ icon }: Wallet['info']) {
  return icon?.startsWith('data:image/') ? <img src={icon} alt="" /> : <span className="no-icon" />;
}

/** Name of the anchoring network; nothing until it is loaded. */
function Network() {
  const { data: chain } = useQuery(chainQuery);
  if (chain === undefined) return null;
  return (
    <>
      Proofs are anchored on {chain.name}
      {chain.testnet && ' (a test network)'}. Your wallet may be on any network.
    </>
  );
}

/** Apps whose own browser has a wallet, and the links that open a page in them. */
const apps: Record<string, (page: string) => string> = {
  MetaMask: (page) => `https://link.metamask.io/dapp/${page.replace(/^https?:\/\//, '')}`,
  'Coinbase Wallet': (page) => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(page)}`,
  'Trust Wallet': (page) =>
    `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(page)}`,
};

function NoWallet() {
  if (matchMedia('(pointer: coarse)').matches) {
    return (
      <Alert color="gray" title="Open this page in the app of your wallet">
        <ul className="wallets" aria-label="Wallet apps">
          {Object.entries(apps).map(([name, linkTo]) => (
            <li key={name}>
              <a className="wallet" href={linkTo(window.location.href)} rel="noreferrer">
                {name}
              </a>
            </li>
          ))}
        </ul>
      </Alert>
    );
  }
  return (
    <Alert color="gray" title="No wallet was found in this browser">
      <List size="sm" spacing={4}>
        <List.Item>
          Install an Ethereum wallet as an extension of this browser. Wallets that support EIP-6963
          are listed here.
        </List.Item>
        <List.Item>If you have just installed one, reload this page.</List.Item>
        <List.Item>
          Without a browser wallet, <code>svc login --key-file</code> signs in on the command line.
        </List.Item>
      </List>
    </Alert>
  );
}
