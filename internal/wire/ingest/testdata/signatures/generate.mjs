// Writes the signature vectors beside it: node generate.mjs
//
// It follows the providers' published rules and shares no code with the server:
//   standard-webhooks  Standard Webhooks 1.0.0, "Signature scheme": base64 secrets after whsec_, HMAC-SHA256 over id.timestamp.body
//   stripe             docs.stripe.com/webhooks/signature: the secret as shown, HMAC-SHA256 over t.body, in hex
//   github             docs.github.com, "Validating webhook deliveries": HMAC-SHA256 over the body, in hex after sha256=
//   hmac-sha256        a header of one's own; with base64 it is Shopify's X-Shopify-Hmac-Sha256
//   bearer             RFC 6750
// A vector is a delivery, the moment at which it arrives, and what is to become of it: 202, 400 or 401; with 202 the label of the secret.
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';

const now = 1700000000;
const bodies = {
  plain: '{"id":"evt_1","amount":"2.50"}',
  // What a reader would write in another way: an escape, a number, spaces, a final newline.
  raw: '{ "text" : "\\u001B", "n": 1.0,\t"ü":"\\/"}\n',
  empty: '',
  bytes: Buffer.from([0, 255, 10, 13, 34, 128]),
};

const hmac = (secret, ...parts) => {
  const h = createHmac('sha256', secret);
  for (const p of parts) h.update(p);
  return h.digest();
};

// flip changes one bit of one byte of a text or a buffer.
const flip = (value, at) => {
  const b = Buffer.from(value);
  b[at] ^= 1;
  return typeof value === 'string' ? b.toString('latin1') : b;
};

function file(scheme, verify, cases) {
  const vectors = cases.map((c) => ({
    name: c.name,
    verify: { scheme, ...verify, ...c.verify, secrets: c.secrets },
    now: c.now ?? now,
    headers: c.headers,
    body: Buffer.from(c.body).toString('base64'),
    status: c.status,
    ...(c.label ? { label: c.label } : {}),
  }));
  const names = new Set(vectors.map((v) => v.name));
  if (names.size !== vectors.length) throw new Error(`${scheme}: a name twice`);
  writeFileSync(new URL(`${scheme}.json`, import.meta.url), JSON.stringify(vectors, null, 1) + '\n');
}

// --- Standard Webhooks
{
  const key = Buffer.from('0123456789abcdefghijklmnopqrstuv'), other = Buffer.from('another secret of thirty-two byt');
  const secret = { label: 'new', value: 'whsec_' + key.toString('base64') }, old = { label: 'old', value: 'whsec_' + other.toString('base64') };
  const id = 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W';
  const sign = (k, i, t, body) => 'v1,' + hmac(k, `${i}.${t}.`, body).toString('base64');
  const good = (body, t = now, k = key) => [['webhook-id', id], ['webhook-timestamp', `${t}`], ['webhook-signature', sign(k, id, t, body)]];
  const one = (name, status, headers, body = bodies.plain, more = {}) =>
    ({ name, status, headers, body, secrets: [secret], ...(status === 202 ? { label: 'new' } : {}), ...more });
  const replace = (name, value) => good(bodies.plain).map(([n, v]) => (n === name ? [n, value(v)] : [n, v]));
  const without = (name) => good(bodies.plain).filter(([n]) => n !== name);
  const signature = sign(key, id, now, bodies.plain);
  file('standard-webhooks', {}, [
    ...Object.entries(bodies).map(([name, body]) => one(`a ${name} body`, 202, good(body), body)),
    one('names in capitals', 202, good(bodies.plain).map(([n, v]) => [n.toUpperCase(), v])),
    one('a secret without whsec_', 202, good(bodies.plain), bodies.plain, { secrets: [{ label: 'new', value: key.toString('base64') }] }),
    one('a byte of the body changed', 401, good(bodies.plain), flip(bodies.plain, 5)),
    one('the final newline left away', 401, good(bodies.raw), bodies.raw.trimEnd()),
    one('the body written anew', 401, good(bodies.raw), JSON.stringify(JSON.parse(bodies.raw))),
    one('a byte of the signature changed', 401, replace('webhook-signature', (v) => flip(v, 9))),
    one('a byte of the id changed', 401, replace('webhook-id', (v) => flip(v, 5))),
    one('a byte of the time changed', 401, replace('webhook-timestamp', (v) => flip(v, 9))),
    one('the padding changed', 401, replace('webhook-signature', (v) => v.replace(/=$/, ''))),
    one('no id', 401, without('webhook-id')),
    one('no time', 401, without('webhook-timestamp')),
    one('no signature', 401, without('webhook-signature')),
    one('an empty signature', 401, replace('webhook-signature', () => 'v1,')),
    one('the signature without its version', 401, replace('webhook-signature', (v) => v.slice(3))),
    one('only a version that is asymmetric', 401, replace('webhook-signature', (v) => v.replace('v1,', 'v1a,'))),
    one('only an id that resembles', 401, [['x-orig-webhook-id', id], ...without('webhook-id')]),
    one('a time of the last second', 202, good(bodies.plain, now - 300)),
    one('a stale time', 401, good(bodies.plain, now - 301)),
    one('a time ahead, within', 202, good(bodies.plain, now + 300)),
    one('a future time', 401, good(bodies.plain, now + 301)),
    one('a tolerance of ten seconds', 202, good(bodies.plain, now - 10), bodies.plain, { verify: { toleranceS: 10 } }),
    one('past ten seconds', 401, good(bodies.plain, now - 11), bodies.plain, { verify: { toleranceS: 10 } }),
    one('a time in milliseconds', 401, good(bodies.plain, now * 1000)),
    one('a time with a sign', 401, good(bodies.plain, '+' + now)),
    one('a time with a fraction', 401, good(bodies.plain, now + '.0')),
    one('signed with the new of two', 202, good(bodies.plain), bodies.plain, { secrets: [old, secret] }),
    one('signed with the old of two', 202, good(bodies.plain, now, other), bodies.plain, { secrets: [secret, old], label: 'old' }),
    one('signed with a secret that was taken away', 401, good(bodies.plain, now, other)),
    one('several signatures, the last good', 202, replace('webhook-signature', (v) => `v1,AAAA v1a,BBBB ${sign(other, id, now, bodies.plain)} ${v}`)),
    one('several signatures, the first good', 202, replace('webhook-signature', (v) => `${v} ${sign(other, id, now, bodies.plain)}`)),
    one('several signatures, none good', 401, replace('webhook-signature', (v) => `v1,AAAA ${sign(other, id, now, bodies.plain)}`)),
    one('the id twice', 400, [...good(bodies.plain), ['webhook-id', id]]),
    one('another id first', 401, [['webhook-id', 'msg_other'], ...good(bodies.plain)]),
    one('the signature in a second line', 401, [['webhook-signature', 'v1,AAAA'], ...good(bodies.plain)]),
    // The same signed bytes, cut at another place.
    one('the time read out of the body', 401, [['webhook-id', `${id}.${now}`], ['webhook-timestamp', `${now + 1}`], ['webhook-signature', sign(key, id, now, `${now + 1}.0`)]], '0'),
    one('the secret itself as the key', 401, [...without('webhook-signature'), ['webhook-signature', sign(secret.value, id, now, bodies.plain)]]),
    one('in quotes', 401, replace('webhook-signature', () => `"${signature}"`)),
  ]);
}

// --- Stripe
{
  const secret = { label: 'new', value: 'whsec_test_secret' }, old = { label: 'old', value: 'whsec_older_secret' };
  const v1 = (k, t, body) => hmac(k.value, `${t}.`, body).toString('hex');
  const good = (body, t = now, k = secret) => [['Stripe-Signature', `t=${t},v1=${v1(k, t, body)},v0=${'6f'.repeat(32)}`]];
  const one = (name, status, headers, body = bodies.plain, more = {}) =>
    ({ name, status, headers, body, secrets: [secret], ...(status === 202 ? { label: 'new' } : {}), ...more });
  const header = (text) => [['Stripe-Signature', text]];
  const s = v1(secret, now, bodies.plain);
  file('stripe', {}, [
    ...Object.entries(bodies).map(([name, body]) => one(`a ${name} body`, 202, good(body), body)),
    one('a byte of the body changed', 401, good(bodies.plain), flip(bodies.plain, 5)),
    one('a byte of the signature changed', 401, header(`t=${now},v1=${flip(s, 3)}`)),
    one('a byte of the time changed', 401, header(`t=${now + 1},v1=${s}`)),
    one('no header', 401, []),
    one('no time', 401, header(`v1=${s}`)),
    one('no signature', 401, header(`t=${now}`)),
    one('only scheme v0', 401, header(`t=${now},v0=${s}`)),
    one('the time twice', 401, header(`t=${now},t=${now},v1=${s}`)),
    one('spaces behind the commas', 202, header(`t=${now}, v1=${s}`)),
    one('a time of the last second', 202, good(bodies.plain, now - 300)),
    one('a stale time', 401, good(bodies.plain, now - 301)),
    one('a time ahead, within', 202, good(bodies.plain, now + 300)),
    one('a future time', 401, good(bodies.plain, now + 301)),
    one('signed with the old of two', 202, good(bodies.plain, now, old), bodies.plain, { secrets: [secret, old], label: 'old' }),
    one('signed with a secret that was taken away', 401, good(bodies.plain, now, old)),
    one('several signatures, one good', 202, header(`t=${now},v1=${v1(old, now, bodies.plain)},v1=${s}`)),
    one('several signatures, none good', 401, header(`t=${now},v1=${v1(old, now, bodies.plain)},v1=${flip(s, 0)}`)),
    one('half a signature', 401, header(`t=${now},v1=${s.slice(0, 32)}`)),
    one('the header twice', 400, [...good(bodies.plain), ...good(bodies.plain)]),
    one('without whsec_ in the key', 401, header(`t=${now},v1=${v1({ value: 'test_secret' }, now, bodies.plain)}`)),
  ]);
}

// --- GitHub, and a header of one's own
function overBody(scheme, verify, name, write) {
  const secret = { label: 'new', value: "It's a Secret to Everybody" }, old = { label: 'old', value: 'an older one' };
  const good = (body, k = secret) => [[name, write(hmac(k.value, body))]];
  const one = (title, status, headers, body = bodies.plain, more = {}) =>
    ({ name: title, status, headers, body, secrets: [secret], ...(status === 202 ? { label: 'new' } : {}), ...more });
  const sum = hmac(secret.value, bodies.plain);
  return [
    ...Object.entries(bodies).map(([title, body]) => one(`a ${title} body`, 202, good(body), body)),
    one('a byte of the body changed', 401, good(bodies.plain), flip(bodies.plain, 5)),
    one('a byte of the signature changed', 401, [[name, write(flip(sum, 31))]]),
    one('a byte too few', 401, [[name, write(sum.subarray(0, 31))]]),
    one('no header', 401, []),
    one('an empty header', 401, [[name, '']]),
    one('another encoding', 401, [[name, write(sum).replace(/[0-9A-Za-z+/]+=*$/, '') + (verify.encoding === 'base64' ? sum.toString('hex') : sum.toString('base64'))]]),
    one('signed with the old of two', 202, good(bodies.plain, old), bodies.plain, { secrets: [secret, old], label: 'old' }),
    one('signed with a secret that was taken away', 401, good(bodies.plain, old)),
    one('the header twice', 400, [...good(bodies.plain), ...good(bodies.plain)]),
    one('another header', 401, [['X-Signature-Other', write(sum)]]),
  ];
}
{
  const name = 'X-Hub-Signature-256';
  const cases = overBody('github', {}, name, (b) => 'sha256=' + b.toString('hex'));
  // The example of GitHub's documentation.
  cases.push({
    name: "GitHub's own example", status: 202, label: 'new', secrets: [{ label: 'new', value: "It's a Secret to Everybody" }], body: 'Hello, World!',
    headers: [[name, 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17']],
  });
  const sum = hmac("It's a Secret to Everybody", bodies.plain).toString('hex');
  const secrets = [{ label: 'new', value: "It's a Secret to Everybody" }];
  cases.push({ name: 'without sha256=', status: 401, secrets, body: bodies.plain, headers: [[name, sum]] });
  cases.push({ name: 'only the SHA-1 header', status: 401, secrets, body: bodies.plain, headers: [['X-Hub-Signature', 'sha1=' + sum.slice(0, 40)]] });
  file('github', {}, cases);
}
{
  const shopify = { header: 'X-Shopify-Hmac-Sha256', encoding: 'base64' };
  const own = { header: 'x-signature', encoding: 'hex', prefix: 'hmac:' };
  const mark = (title, verify, cases) => cases.map((c) => ({ ...c, name: `${title}: ${c.name}`, verify }));
  file('hmac-sha256', {}, [
    ...mark('base64', shopify, overBody('hmac-sha256', shopify, shopify.header, (b) => b.toString('base64'))),
    ...mark('hex with a prefix', own, overBody('hmac-sha256', own, own.header, (b) => own.prefix + b.toString('hex'))),
  ]);
}

// --- bearer
{
  const secret = { label: 'new', value: 'mF_9.B5f-4.1JqM' }, old = { label: 'old', value: 'another-token' };
  const one = (name, status, headers, more = {}) => ({ name, status, headers, body: bodies.plain, secrets: [secret], ...(status === 202 ? { label: 'new' } : {}), ...more });
  const header = (text) => [['Authorization', text]];
  file('bearer', {}, [
    one('good', 202, header(`Bearer ${secret.value}`)),
    one('the scheme in small letters', 202, header(`bearer ${secret.value}`)),
    one('a byte changed', 401, header(`Bearer ${flip(secret.value, 3)}`)),
    one('a byte too few', 401, header(`Bearer ${secret.value.slice(0, -1)}`)),
    one('a byte too many', 401, header(`Bearer ${secret.value}x`)),
    one('nothing behind the scheme', 401, header('Bearer ')),
    one('no header', 401, []),
    one('another scheme', 401, header(`Basic ${secret.value}`)),
    one('the old of two', 202, header(`Bearer ${old.value}`), { secrets: [secret, old], label: 'old' }),
    one('one that was taken away', 401, header(`Bearer ${old.value}`)),
    one('the header twice', 400, [...header(`Bearer ${secret.value}`), ...header(`Bearer ${secret.value}`)]),
  ]);
}
