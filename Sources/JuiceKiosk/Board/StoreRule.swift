import JuiceMaker
import JuiceMessages

/// Which stores a kiosk shows, and for which it accepts orders. A store that an order creates stays for good, so strangers must not
/// create any.
struct StoreRule: Sendable {
    /// The stores that pages list first. They accept orders whether or not they have stock yet.
    let named: [String]
    /// Whether no other stores are shown.
    let isFixed: Bool
    private let names: Set<Name>
    private let takesAny: Bool

    /// - Parameters:
    ///   - stores: the stores; nil is the default store and all that have stock.
    ///   - takesAny: whether any other store accepts orders, too.
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
