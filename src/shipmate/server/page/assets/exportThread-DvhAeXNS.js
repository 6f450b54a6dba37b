import{a6 as w,a7 as h,a8 as y,a9 as j,d as u}from"./index-BycpB4Iq.js";import"./react-CgBu5lOV.js";const m=500;async function f(e){let n=await u.messages(e,void 0,m);const s=n.messages;for(;n.hasMore&&n.messages[0];)n=await u.messages(e,n.messages[0].id,m),s.unshift(...n.messages);return s}function d(e,n=""){const s=Math.max(2,...[...e.matchAll(/`+/g)].map(a=>a[0].length)),o="`".repeat(s+1);return`${o}${n}
${e.replace(/\n$/,"")}
${o}`}const l=e=>typeof e=="string"?d(e):d(JSON.stringify(e,null,2)??"","json");function k(e){if(e.type==="text")return e.text;if(e.type==="reasoning")return e.text.replace(/^/gm,"> ");if(e.type==="file")return`[${e.filename??e.mediaType}](${e.url.startsWith("data:")?"":e.url})`;if(!y(e))return"";const n=e.state==="output-available"?e.output:e.state==="output-error"?e.errorText:void 0;return[`**${j(e)}**`,l(e.input),...n===void 0?[]:[l(n)]].join(`

`)}function M(e){return e.parts.map(k).filter(Boolean).join(`

`)}async function L(e,{title:n,you:s,member:o}){const a=(await f(e)).filter(t=>t.role!=="system"&&t.metadata?.replacedBy===void 0),p=new Map((w.get()?.members??[]).map(t=>[t.id,t.name||t.id])),c=t=>p.get(t)??t,g=({role:t,metadata:r})=>{const i=r?.errand?r.errand.chain?.at(-1):r?.member;return i?c(i):t==="user"?s:o},$=a.map(t=>{const r=h(t);if(r)return`${c(r.from)} → ${c(r.to)}`;const i=t.metadata?.timestamp?` · ${t.metadata.timestamp}`:"";return`## ${g(t)}${i}

${M(t)}`});return`${[`# ${n}`,...$].join(`

`)}
`}async function O(e){return`${JSON.stringify({id:e,messages:await f(e)},null,2)}
`}function T(e,n,s){const o=URL.createObjectURL(new Blob([n],{type:s})),a=document.createElement("a");a.href=o,a.download=e.replace(/[^\p{L}\p{N} ._-]+/gu," ").trim().slice(0,80),a.click(),window.setTimeout(()=>URL.revokeObjectURL(o),6e4)}export{T as download,M as messageMarkdown,O as threadJson,L as threadMarkdown};
