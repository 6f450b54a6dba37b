import { useEffect, useId, useRef, type ReactNode } from "react";
import { useT } from "../i18n";
import { IconButton } from "./IconButton";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
}

/** A dialog in the browser's own top layer: it keeps the focus, and Esc closes it. */
export function Modal({ title, onClose, children, wide }: Props) {
  const t = useT();
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    // The browser would focus the close button; people come to fill in the first field.
    ref.current?.querySelector<HTMLElement>("[data-focus], input:enabled, select, textarea")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      className={wide ? "modal wide" : "modal"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div className="modal-body">
        <header className="modal-head">
          <h2 id={heading}>{title}</h2>
          <IconButton icon="cross" label={t("close")} onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
