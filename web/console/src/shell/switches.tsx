import { cut, losingAcks, lostAcks, setCut } from "../core/faults.ts";

/** Two ways to break the network, so that anybody can see what becomes of a message then. */
export function Switches() {
  return (
    <fieldset class="switches">
      <legend>Pull the plug</legend>
      <Switch name="Cut network" on={cut.value} set={setCut} />
      <Switch name="Lose acks" on={losingAcks.value} set={(on) => (losingAcks.value = on)}>
        {lostAcks.value > 0 && <span class="hint">{lostAcks} lost</span>}
      </Switch>
    </fieldset>
  );
}

interface SwitchProps {
  readonly name: string;
  readonly on: boolean;
  readonly set: (on: boolean) => void;
  readonly children?: preact.ComponentChildren;
}

function Switch({ name, on, set, children }: SwitchProps) {
  return (
    <div class="switch">
      <button type="button" role="switch" aria-checked={on} onClick={() => set(!on)}>
        <span class="switch-track" aria-hidden="true" />
        {name}
      </button>
      {children}
    </div>
  );
}
