/** The views that are loaded only when someone opens them. */
import { lazy } from "react";

export const SetupPage = lazy(() => import("../page/Setup"));

export const pages = {
  approvals: lazy(() => import("../page/Approvals")),
  members: lazy(() => import("../page/Members")),
  memory: lazy(() => import("../page/Memory")),
  skills: lazy(() => import("../page/Skills")),
  tasks: lazy(() => import("../page/Tasks")),
  priming: lazy(() => import("../page/Priming")),
  platforms: lazy(() => import("../page/Platforms")),
  usage: lazy(() => import("../page/Usage")),
  audit: lazy(() => import("../page/Audit")),
  permissions: lazy(() => import("../page/Permissions")),
  team: lazy(() => import("../page/Team")),
  settings: lazy(() => import("../page/Settings")),
} as const;

export type PageName = keyof typeof pages;

export function isPage(name: string): name is PageName {
  return name in pages;
}
