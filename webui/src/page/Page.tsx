import type { ReactNode } from "react";
import { DrawerButton } from "../app/drawer";

interface Props {
  title: string;
  about?: string;
  actions?: ReactNode;
  children: ReactNode;
}

export function Page({ title, about, actions, children }: Props) {
  return (
    <>
      <header className="bar">
        <DrawerButton />
        <div className="bar-title">
          <h1>{title}</h1>
        </div>
        {actions}
      </header>
      <div className="page">
        <div className="page-inner">
          {about && <p className="page-about">{about}</p>}
          {children}
        </div>
      </div>
    </>
  );
}
