import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Cell } from "./client";

export function useCell<T>(cell: Cell<T>): T {
  return useSyncExternalStore(cell.subscribe, cell.get);
}

export interface Loaded<T> {
  data: T | undefined;
  error: Error | undefined;
  loading: boolean;
  reload: () => Promise<void>;
}

/** Loads on mount and whenever `key` changes; an answer that a newer request overtook is dropped. */
export function useLoad<T>(load: () => Promise<T>, key: string): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error?: Error; loading: boolean }>({ loading: true });
  const turn = useRef(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(async () => {
    const mine = ++turn.current;
    setState((old) => ({ ...old, loading: true }));
    try {
      const data = await latest.current();
      if (mine === turn.current) setState({ data, loading: false });
    } catch (error) {
      if (mine === turn.current) setState((old) => ({ data: old.data, error: error as Error, loading: false }));
    }
  }, []);
  useEffect(() => {
    setState({ loading: true });
    void reload();
    return () => {
      turn.current++;
    };
  }, [key, reload]);
  return { data: state.data, error: state.error, loading: state.loading, reload };
}
