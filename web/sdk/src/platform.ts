/** What of the platform's types the SDK's own speak of, by shape: an app needs neither the DOM library nor Node's types for them. */

/** Ends a wait; an AbortSignal is one. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", f: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", f: () => void): void;
}

/** A key that the browser keeps; a CryptoKey is one. */
export interface SealKey {
  readonly type: string;
  readonly extractable: boolean;
  readonly algorithm: { readonly name: string };
  readonly usages: readonly string[];
}
