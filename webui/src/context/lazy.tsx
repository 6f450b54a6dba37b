import { lazy, Suspense, type ComponentProps } from "react";
import { Loading } from "../ui/State";

const Panel = lazy(() => import("./ContextPanel"));

export function ContextPanel(props: ComponentProps<typeof Panel>) {
  return (
    <Suspense
      fallback={
        <aside className="context">
          <Loading />
        </aside>
      }
    >
      <Panel {...props} />
    </Suspense>
  );
}
