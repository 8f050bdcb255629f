import JuiceMaker
import JuiceMessages

/// Which stores a kiosk shows, and which it takes orders for. An order makes its store, for good, so not everybody's word will do.
struct StoreRule: Sendable {
    /// What a page is offered first. Orders are taken for these whether or not they have stock yet.
    let named: [String]
    /// Whether there are no others.
    let isFixed: Bool
    private let names: Set<Name>
    private let takesAny: Bool

    /// - Parameters:
    ///   - stores: those that there are; nil is all that have stock, and the one that commands without a store are about.
    ///   - takesAny: whether any other is taken, too.
    init(stores: [String]?, takesAny: Bool = false) {
        named = stores ?? [StoreID.main]
        isFixed = stores != nil && !takesAny
        names = Set(named.map(Name.init))
        self.takesAny = takesAny
    }

    func isNamed(_ store: Name) -> Bool { names.contains(store) }

    func isShown(_ store: Name) -> Bool { !isFixed || isNamed(store) }

    func takesOrders(for store: Name, hasStock: Bool) -> Bool {
        takesAny || isNamed(store) || hasStock && !isFixed
    }
}
