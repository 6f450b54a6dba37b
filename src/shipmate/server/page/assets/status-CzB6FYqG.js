const r={requested:"warn",approved:"good",denied:"bad",expired:"",superseded:""},n={...r,refused:"bad",running:"accent",ok:"good",error:"bad",interrupted:"warn",changed:"warn",mended:"warn",broken:"bad"};function d(e){return(e.split(`
`)[0]??"").replace(/^--- /,"")}export{n as O,r as S,d as b};
