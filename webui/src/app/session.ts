import { createContext, useContext } from "react";
import { api } from "../api/api";
import { ApiError, Cell, gate, meet } from "../api/client";
import type { Role, Session } from "../api/types";
import { followLanguage } from "../i18n";

export const session = new Cell<Session | undefined>(undefined);
export const sessionError = new Cell<Error | undefined>(undefined);

export async function loadSession(): Promise<void> {
  try {
    const found = await api.session();
    await meet(found);
    await followLanguage(found.language);
    session.set(found);
    sessionError.set(undefined);
    gate.set(found.workspace.hasAgent ? "open" : "setup");
  } catch (error) {
    const known = error instanceof ApiError && (error.status === 401 || error.code === "offline");
    sessionError.set(known ? undefined : (error as Error));
  }
}

/** Returns what a member is called; one that is gone goes by its id. */
export function useMemberName(id: string): string {
  return useSession().members.find((one) => one.id === id)?.name ?? id;
}

const ROLES: Role[] = ["guest", "member", "admin"];

/** Returns whether whoever is signed in may do what a role may. */
export function useMay(role: Role): boolean {
  return ROLES.indexOf(useSession().user.role) >= ROLES.indexOf(role);
}

const SessionContext = createContext<Session | undefined>(undefined);
export const SessionProvider = SessionContext.Provider;

export function useSession(): Session {
  const found = useContext(SessionContext);
  if (!found) throw new Error("no session");
  return found;
}
