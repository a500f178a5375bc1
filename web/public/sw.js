// Shows a page of our own where the server does not answer. It touches nothing but the first page: everything else goes to
// the server as if this were not here.

const CACHE = 'offline-1';
const PAGE = '/offline.html';
const KEPT = [PAGE, '/login.css', '/icon.svg'];

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(KEPT)).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => self.clients.claim()));
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== self.location.origin) return;
  const opens = request.mode === 'navigate' && pathname === '/';
  if (!opens && !KEPT.includes(pathname)) return;
  event.respondWith(fetch(request).catch(async (error) => (await caches.match(opens ? PAGE : pathname)) ?? Promise.reject(error)));
});
