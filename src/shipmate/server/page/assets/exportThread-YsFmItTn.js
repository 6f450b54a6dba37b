import{d as m,a5 as w,a6 as h,a7 as y}from"./index-D43u6TJy.js";import"./react-CgBu5lOV.js";const u=500;async function f(e){let n=await m.messages(e,void 0,u);const s=n.messages;for(;n.hasMore&&n.messages[0];)n=await m.messages(e,n.messages[0].id,u),s.unshift(...n.messages);return s}function d(e,n=""){const s=Math.max(2,...[...e.matchAll(/`+/g)].map(o=>o[0].length)),a="`".repeat(s+1);return`${a}${n}
${e.replace(/\n$/,"")}
${a}`}const l=e=>typeof e=="string"?d(e):d(JSON.stringify(e,null,2)??"","json");function b(e){if(e.type==="text")return e.text;if(e.type==="reasoning")return e.text.replace(/^/gm,"> ");if(e.type==="file")return`[${e.filename??e.mediaType}](${e.url.startsWith("data:")?"":e.url})`;if(!h(e))return"";const n=e.state==="output-available"?e.output:e.state==="output-error"?e.errorText:void 0;return[`**${y(e)}**`,l(e.input),...n===void 0?[]:[l(n)]].join(`

`)}function j(e){return e.parts.map(b).filter(Boolean).join(`

`)}async function x(e,{title:n,you:s,member:a}){const o=(await f(e)).filter(t=>t.role!=="system"&&t.metadata?.replacedBy===void 0),p=new Map((await m.members()).members.map(t=>[t.id,t.name||t.id])),c=t=>p.get(t)??t,$=({role:t,metadata:r})=>{const i=r?.errand?r.errand.chain?.at(-1):r?.member;return i?c(i):t==="user"?s:a},g=o.map(t=>{const r=w(t);if(r)return`${c(r.from)} → ${c(r.to)}`;const i=t.metadata?.timestamp?` · ${t.metadata.timestamp}`:"";return`## ${$(t)}${i}

${j(t)}`});return`${[`# ${n}`,...g].join(`

`)}
`}async function L(e){return`${JSON.stringify({id:e,messages:await f(e)},null,2)}
`}function O(e,n,s){const a=URL.createObjectURL(new Blob([n],{type:s})),o=document.createElement("a");o.href=a,o.download=e.replace(/[^\p{L}\p{N} ._-]+/gu," ").trim().slice(0,80),o.click(),window.setTimeout(()=>URL.revokeObjectURL(a),6e4)}export{O as download,j as messageMarkdown,L as threadJson,x as threadMarkdown};
