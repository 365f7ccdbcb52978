import { getResponse, type RequestHandler } from 'msw';
import type { Page, Request as PageRequest } from 'playwright-core';

/**
 * Answers a page's requests with handlers of msw, until the returned function is called. What no handler answers goes
 * to the service.
 */
export async function answerPage(
  page: Page,
  ...handlers: RequestHandler[]
): Promise<() => Promise<void>> {
  await page.route('**/*', async (route) => {
    const asked = route.request();
    const response = await getResponse(
      handlers,
      new Request(asked.url(), { method: asked.method() }),
    );
    if (response === undefined) return route.fallback();
    await route.fulfill({
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    });
  });
  return () => page.unrouteAll();
}

/** What the service itself answers to the request of a handler. */
export async function answerOf<Answer>({ url }: Request): Promise<Answer> {
  return (await (await fetch(url)).json()) as Answer;
}

/** Holds the requests of one method and path until `release` is called. `sent` resolves when the first is on its way. */
export async function holdRequests(page: Page, method: string, path: string) {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const isMeant = (request: PageRequest) =>
    request.method() === method && request.url().endsWith(path);
  await page.route(`**${path}`, async (route) => {
    if (isMeant(route.request())) await held;
    await route.continue();
  });
  return { sent: page.waitForRequest(isMeant), release };
}
