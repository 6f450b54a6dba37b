from __future__ import annotations
from shipmate.store.journal.inbox import JournalInbox
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.journal.signature import SignatureFiles
from shipmate.store.journal.usage import UsageFiles
from shipmate.store.sqlite import MemoryStore
from shipmate.store.port import Reconciled
from shipmate.values.thread_id import ThreadId

class Ledger:
    def __init__(self, layout, disk):
        self.s=SignatureFiles(layout,disk); self.u=UsageFiles(layout,disk)
    async def add_usage(self,u): self.u.append(u)
    async def usage(self,*a): return []
    async def keep_signatures(self,t,m,s):
        t=ThreadId.parse(t); k=self.s.read(t); k[m]=s; self.s.write(t,k)
    async def signatures(self,t,m): return self.s.read(ThreadId.parse(t)).get(m,[])
    async def drop_signatures(self,t,m):
        t=ThreadId.parse(t); k=self.s.read(t)
        if k.pop(m,None) is not None: self.s.write(t,k)

class Threads:
    def __init__(self,inner): self.inner=inner
    async def find(self,t): return None
    async def note(self,*a,**k): pass
    async def rename(self,*a): pass

class Interim:
    def __init__(self, layout, disk):
        m=MemoryStore(); self.m=m
        self.outbox=JournalOutbox(layout,disk); self.inbox=JournalInbox(layout,self.outbox,disk)
        self.threads=Threads(m.threads); self.consents=m.consents; self.search=m.search
        self.ledger=Ledger(layout,disk); self.ship=None
    async def reconcile(self,*a,**k):
        return Reconciled()
    async def close(self): await self.m.close()
