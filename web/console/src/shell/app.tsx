import { identity } from "../core/sign-in.ts";
import { Frame } from "./frame.tsx";
import { SignIn } from "./sign-in.tsx";

export function App() {
  return identity.value === undefined ? <SignIn /> : <Frame key={identity.value.actor} />;
}
