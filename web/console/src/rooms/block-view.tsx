import { Component, createRef } from "preact";
import { LineView } from "./line-view.tsx";
import type { Block, Line } from "./lines.ts";

/** Tells blocks whether they are near what is seen. */
export class Sight {
  readonly #told = new Map<Element, (near: boolean, height: number) => void>();
  readonly #observer: IntersectionObserver;

  constructor(root: Element) {
    this.#observer = new IntersectionObserver(
      (entries) => {
        for (const e of entries) this.#told.get(e.target)?.(e.isIntersecting, e.boundingClientRect.height);
      },
      { root, rootMargin: "100% 0px" },
    );
  }

  watch(element: Element, f: (near: boolean, height: number) => void): void {
    this.#told.set(element, f);
    this.#observer.observe(element);
  }

  leave(element: Element): void {
    this.#told.delete(element);
    this.#observer.unobserve(element);
  }

  end(): void {
    this.#observer.disconnect();
  }
}

interface BlockProps {
  readonly block: Block;
  /** The line before the block's first. */
  readonly before: Line | undefined;
  readonly sight: Sight;
}

/** A block of lines, drawn while it is near what is seen, and else a space of the height that it had. */
export class BlockView extends Component<BlockProps, { readonly space: number | undefined }> {
  override state = { space: undefined };
  /** As it is asked for: the state is that of the last drawing, and a block may go and come back in between. */
  #space: number | undefined;
  readonly #ref = createRef<HTMLDivElement>();

  override componentDidMount(): void {
    this.props.sight.watch(this.#ref.current!, (near, height) => {
      const space = near ? undefined : height;
      if (space === this.#space || (!near && this.#space !== undefined)) return;
      this.#space = space;
      this.setState({ space });
    });
  }

  override componentWillUnmount(): void {
    if (this.#ref.current !== null) this.props.sight.leave(this.#ref.current);
  }

  override shouldComponentUpdate(next: BlockProps, state: { readonly space: number | undefined }): boolean {
    return next.block !== this.props.block || next.before !== this.props.before || state.space !== this.state.space;
  }

  override render() {
    const { block, before } = this.props;
    const { space } = this.state;
    if (space !== undefined) return <div ref={this.#ref} class="block" style={{ blockSize: `${space}px` }} />;
    return (
      <div ref={this.#ref} class="block">
        {block.lines.map((line, i) => (
          <LineView key={line.messageId} line={line} before={i === 0 ? before : block.lines[i - 1]} />
        ))}
      </div>
    );
  }
}
