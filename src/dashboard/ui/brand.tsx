import { Link } from 'wouter';

export function Brand() {
  return (
    <Link href="/" className="brand">
      <img src="/icon.svg" alt="" width={28} height={28} />
      <span>svc</span>
    </Link>
  );
}
