// The page where anyone verifies a proof, by a text or a file.
import { Page } from '../ui/page.tsx';
import { VerifyBox } from './verify/verify-box.tsx';

export default function Verify() {
  return (
    <Page
      title="Verify a proof"
      lead="Check whether evidence was anchored on the chain, when, and for which task."
    >
      <VerifyBox />
    </Page>
  );
}
