import { Component, type ReactNode } from "react";

interface Props {
  /** What stands where something could not be shown. */
  instead: ReactNode;
  children: ReactNode;
}

/** Keeps what cannot be shown from taking the page with it. */
export class Boundary extends Component<Props, { isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render() {
    return this.state.isBroken ? this.props.instead : this.props.children;
  }
}
