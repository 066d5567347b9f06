/** A key as an app would give it: fixed, so that stores made once can be opened again, and not extractable. */
export function sealKey(text = "a key of 32 bytes for tests only"): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", new TextEncoder().encode(text), "AES-GCM", false, ["encrypt", "decrypt"]);
}
