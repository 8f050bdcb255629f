/// Follows the account of a partition, and compares each position note with it.
///
/// Records that follow each other do not show how many of them there must be. So each note says how many records the journal has
/// handled, and how often its stores were changed. A beginning, a middle or a single record that was lost shows at the next note.
struct AccountAudit {
    /// What the journal holds.
    private struct Account: Equatable, CustomStringConvertible {
        var records = 0
        var changes = 0
        var sum: UInt64 = 0

        var description: String { "\(records) records, \(changes) changes and the sum \(sum)" }
    }

    /// What there is so far; nil while it is unknown.
    private var account: Account?
    /// The latest position notes, by their offsets.
    private var notes = Recent<Int64, Bool>(65_536)
    /// Whether a note may begin an account: the first one may, and the next one after an anchor.
    private var mayBegin = true
    private var isAnchored = false
    private let menu: UInt64
    /// How many notes are those of another menu, as they are before or after it was changed.
    private(set) var otherMenus = 0
    /// Whether the last note is an anchor's, and has other changes than the journal.
    private(set) var acceptsLoss = false

    /// - Parameter isWhole: whether nothing of the journal has expired.
    init(isWhole: Bool, _ menu: AuditMenu) {
        account = isWhole ? Account() : nil
        var text: [UInt8] = []
        text.add(menu.fruits.indices.map { AuditMenu.Amount(fruit: $0, amount: 0) }, menu) { menu.fruits[$0.fruit].initialLevel }
        self.menu = text.withUnsafeBufferPointer { Self.digest($0) }
    }

    /// Adds a record of the journal that is about a record of an input.
    mutating func add(_ json: JSONReader) {
        account?.records &+= 1
        guard json.value("revision") != nil, json.value("duplicate") == nil, let store = json.value("store").flatMap(json.string)
        else { return }
        account?.changes &+= 1
        account?.sum &+= Self.digest(store) | 1
    }

    /// There is an unreadable record. The next note says what there is.
    mutating func lose() { account = nil }

    /// There is an anchor, which accepts what is missing before it. The next note says what that leaves.
    mutating func anchor() { (mayBegin, isAnchored) = (true, true) }

    /// Compares a position note, which speaks of what comes before it.
    ///
    /// - Parameters:
    ///   - first: the first offset of the journal that has not expired. Places before it are not looked for.
    ///   - needed: where the oldest answer is that a repeat may ask for, as far as is known.
    /// - Returns: what is wrong with it. The next note is compared with what this one says.
    mutating func check(_ note: JSONReader, at offset: Int64, first: Int64, needed: Int64?) -> String? {
        let (there, begins, isAccepted) = (account, mayBegin, isAnchored)
        (account, mayBegin, isAnchored) = (nil, false, false)
        defer { notes[offset] = true }
        guard let records = note.integer("records"), let changes = note.integer("changes"), min(records, changes) >= 0,
            let sum = note.string("sum"), let number = UInt64(sum), String(number) == sum, let digits = note.string("menu"),
            let menu = UInt64(digits, radix: 16), digits.utf8.count == 16, digits == digits.lowercased()
        else { return "it does not say its account" }
        account = Account(records: records, changes: changes, sum: number)
        if menu != self.menu { otherMenus += 1 }
        var problems: [String] = []
        acceptsLoss = isAccepted && there?.changes != changes
        if !isAccepted, let there, let account, account != there {
            problems.append("its account is \(account), should be \(there)")
        }
        if let before = note.value("before") {
            // Writers name the last note that they know of, so it is never one that this audit has forgotten.
            let before = note.integer(before).map(Int64.init) ?? -1
            if before < 0 || before >= first && notes[before] == nil {
                problems.append("it names the position note before it, and there is none at \(before)")
            }
        } else if !begins {
            problems.append("it begins another account, and no anchor precedes it")
        }
        let oldest = note.value("oldest").map { note.integer($0).map(Int64.init) ?? -1 }
        if let oldest, !(0..<max(offset, first) ~= oldest) {
            problems.append("its oldest answer is not before it")
        } else if let needed, oldest ?? .max > needed {
            problems.append("its oldest answer should be at \(needed), for which a repeat may ask")
        }
        return problems.isEmpty ? nil : problems.joined(separator: "; ")
    }

    /// SipHash-1-3 by Aumasson and Bernstein, in 64 bits. The key is the text "juice journal v1".
    static func digest(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 { hash(bytes, isWide: false).0 }

    /// The same in 128 bits: what the journal calls a digest, in hexadecimal digits.
    static func digest(of bytes: [UInt8]) -> String {
        let (first, second) = bytes.withUnsafeBufferPointer { hash($0, isWide: true) }
        return [first, second].map { half in
            let digits = String(half.byteSwapped, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// The second half only if it is wide.
    private static func hash(_ bytes: UnsafeBufferPointer<UInt8>, isWide: Bool) -> (UInt64, UInt64) {
        let (low, high): (UInt64, UInt64) = (0x6F6A_2065_6369_756A, 0x3176_206C_616E_7275)
        var (v0, v1) = (low ^ 0x736F_6D65_7073_6575, high ^ 0x646F_7261_6E64_6F6D)
        var (v2, v3) = (low ^ 0x6C79_6765_6E65_7261, high ^ 0x7465_6462_7974_6573)
        if isWide { v1 ^= 0xEE }
        func rotated(_ word: UInt64, _ bits: Int) -> UInt64 { word << bits | word >> (64 - bits) }
        func mix() {
            (v0, v2) = (v0 &+ v1, v2 &+ v3)
            (v1, v3) = (rotated(v1, 13) ^ v0, rotated(v3, 16) ^ v2)
            (v0, v2) = (rotated(v0, 32) &+ v3, v2 &+ v1)
            (v1, v3) = (rotated(v1, 17) ^ v2, rotated(v3, 21) ^ v0)
            v2 = rotated(v2, 32)
        }
        for start in stride(from: 0, through: bytes.count, by: 8) {
            let part = bytes[start..<min(start + 8, bytes.count)]
            // The last word, of fewer than eight bytes, ends with the length.
            let word = part.reversed().reduce(0) { $0 << 8 | UInt64($1) } | (part.count < 8 ? UInt64(bytes.count) << 56 : 0)
            v3 ^= word
            mix()
            v0 ^= word
        }
        func end() -> UInt64 {
            for _ in 0..<3 { mix() }
            return v0 ^ v1 ^ v2 ^ v3
        }
        v2 ^= isWide ? 0xEE : 0xFF
        let first = end()
        guard isWide else { return (first, 0) }
        v1 ^= 0xDD
        return (first, end())
    }
}
