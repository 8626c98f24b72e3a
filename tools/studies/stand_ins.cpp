// What stands in for the papers' matrices: generators that make the same matrix or a relative of it, and artificial
// matrices of its features. These are published for the matrices of Mpakos et al. 2023; of the others, sizes and
// lengths of rows are published, and the places of the nonzeros are assumed to be what they are in others of the same
// field.

#include <algorithm>
#include <array>

#include "tools/studies/study.hpp"

namespace autospmv::tools {

namespace {

struct StandIn {
  std::string_view matrix;  ///< by its name in SuiteSparse, else by the paper's
  std::string_view source;
};

constexpr std::array stand_ins = {
    StandIn{"Andrews/Andrews", "gen:twin:60000:60000:12.6692:3.3:1.84153:0.6:0.02:0.05"},
    StandIn{"Andrianov/mip1", "gen:twin:66463:66463:155.768:350.744:425.242:0.59028:1.9249:0.96147"},
    StandIn{"Bai/af23560", "gen:twin:23560:23560:20.5542:1.4:0.021691:0.01:1.3:0.9"},
    StandIn{"Bai/dw2048", "gen:twin:2048:2048:4.93848:0.493848:0.619933:0.03:0.8:0.8"},
    StandIn{"Bai/dw8192", "gen:twin:8192:8192:5.09595:0.611514:0.569875:0.02:0.8:0.8"},
    StandIn{"Bai/mhd3200a", "gen:twin:3200:3200:21.2581:5.73969:0.552348:0.02:1.5:0.9"},
    StandIn{"Bai/mhd4800a", "gen:twin:4800:4800:21.3025:5.4:0.549114:0.01:1.5:0.9"},
    StandIn{"Bai/qh1484", "gen:twin:1484:1484:4.11725:1.60573:2.15745:0.1:0.6:0.4"},
    StandIn{"Bai/rbs480a", "gen:twin:480:480:35.5979:0.355979:0.0112951:0.4:1.4:0.9"},
    StandIn{"Belcastro/mouse_gene", "gen:twin:45101:45101:321.638:400:11.4363:0.9:0.2:0.3"},
    StandIn{"Boeing/pwtk", "gen:twin:217918:217918:53.389:4.74:2.37146:0.02:1.8:0.95"},
    StandIn{"Botonakis/FEM_3D_thermal1", "gen:fem:26:1"},
    StandIn{"Botonakis/FEM_3D_thermal2", "gen:fem:53:1"},
    StandIn{"Botonakis/thermomech_dK", "gen:twin:204316:204316:13.9305:1.4:0.435697:0.5:1:0.6"},
    StandIn{"Botonakis/thermomech_dM", "gen:twin:204316:204316:6.96527:0.7:0.435695:0.5:0.3:0.3"},
    StandIn{"Botonakis/thermomech_TC", "gen:twin:102158:102158:6.96527:0.7:0.435695:0.5:0.3:0.3"},
    StandIn{"Botonakis/thermomech_TK", "gen:twin:102158:102158:6.96527:0.7:0.435695:0.5:0.3:0.3"},
    StandIn{"Bova/rma10", "gen:twin:46835:46835:50.6886:27.78:1.8606:0.02:1.6:0.9"},
    StandIn{"Buss/12month1", "gen:twin:12471:872622:1814.19:5150:40.5365:0.8:0.1:0.1"},
    StandIn{"Dense", "gen:dense:2000"},
    StandIn{"dense2", "gen:dense:2000"},
    StandIn{"DNVS/shipsec1", "gen:twin:140874:140874:55.4638:11.07:0.83904:0.04:1.8:0.93"},
    StandIn{"e20r4000", "gen:twin:4241:4241:31.02:15.51:0.998708:0.05:1.6:0.9"},
    StandIn{"Fluorem/DK01R", "gen:twin:903:903:13.0299:6.4:0.918664:0.1:1.5:0.9"},
    StandIn{"Fluorem/GT01R", "gen:twin:7980:7980:53.9986:16:1.03709:0.08:1.6:0.93"},
    StandIn{"Fluorem/PR02R", "gen:twin:161070:161070:50.8173:19.6983:0.80941:0.03959:1.27954:0.86886"},
    StandIn{"Fluorem/RM07R", "gen:twin:381689:381689:98.1557:68:2.00543:0.2:1.8:0.95"},
    StandIn{"Freescale/circuit5M", "gen:twin:5558326:5558326:10.709:1356.62:120505:0.50252:1.06533:0.94277"},
    StandIn{"Freescale/Freescale1", "gen:twin:3428755:3428755:5.51814:2.1:3.89295:0.05:0.6:0.5"},
    StandIn{"Freescale/FullChip", "gen:twin:2987012:2987012:8.91258:1806:259462:0.3:0.8:0.6"},
    StandIn{"Gleich/flickr", "gen:twin:820878:820878:11.9838:87.7:856.159:0.5:0.05:0.05"},
    StandIn{"Gleich/wb-edu", "gen:twin:9845725:9845725:5.80521:23:660.647:0.01:1.3:0.8"},
    StandIn{"Hamm/scircuit", "gen:twin:170998:170998:5.60788:4.39216:61.9472:0.29725:0.80336:0.63302"},
    StandIn{"HB/bcsstk17", "gen:twin:10974:10974:39.0605:15:2.8402:0.03:1.7:0.93"},
    StandIn{"HB/bcsstk24", "gen:twin:3562:3562:44.8933:11.6723:0.269677:0.1:1.7:0.93"},
    StandIn{"HB/gemat12", "gen:twin:4929:4929:6.71759:3.02292:5.54997:0.4:0.4:0.3"},
    StandIn{"Janna/Cube_Coup_dt0", "gen:twin:2164760:2164760:58.7622:4:0.157206:0.05:1.8:0.92"},
    StandIn{"Janna/ML_Laplace", "gen:twin:377002:377002:73.4478:5:0.0075181:0.02:1.8:0.95"},
    StandIn{"Janna/StocF-1465", "gen:twin:1465137:1465137:14.3368:3.6:12.1829:0.5:0.6:0.5"},
    StandIn{"LAW/eu-2005", "gen:twin:862664:862664:22.2973:29.3:311.8:0.02:1.5:0.8"},
    StandIn{"LAW/hollywood-2009", "gen:twin:1139905:1139905:50.4565:150:117.914:0.6:0.6:0.4"},
    StandIn{"LAW/in-2004", "gen:twin:1382908:1382908:12.233:37.23:632.78:0.0215:1.50718:0.79266"},
    StandIn{"Lourakis/bundle1", "gen:twin:10581:10581:72.8486:290:89.4341:0.9:1.8:0.95"},
    StandIn{"Mallya/lhr71c", "gen:twin:70304:70304:21.7355:26:1.89849:0.05:1:0.7"},
    StandIn{"Mazaheri/bundle_adj", "gen:twin:513351:513351:39.3647:330:318.779:0.5:1.7:0.9"},
    StandIn{"Mittelmann/rail4284", "gen:twin:4284:1092610:2633:4209.26:20.3296:0.95554:1.57627:0.26917"},
    StandIn{"Mittelmann/spal_004", "gen:twin:10203:321696:4524.96:900:0.332389:0.9:0.3:0.3"},
    StandIn{"Nemeth/nemeth23", "gen:banded:9506:79"},
    StandIn{"Norris/lung2", "gen:twin:109460:109460:4.49995:2.1:0.777799:0.01:0.8:0.6"},
    StandIn{"Norris/torso1", "gen:twin:116158:116158:73.3182:419.6:43.5046:0.2:1.8:0.9"},
    StandIn{"PARSEC/Ga3As3H12", "gen:twin:61349:61349:97.3275:148:15.6654:0.3:1.2:0.95"},
    StandIn{"PARSEC/Ga41As41H72", "gen:twin:268096:268096:68.9622:105.388:9.1795:0.17227:1.18402:0.96958"},
    StandIn{"PARSEC/Si41Ge41H72", "gen:twin:185639:185639:80.8632:126.97:7.187:0.17:1.18:0.97"},
    StandIn{"PARSEC/SiO2", "gen:twin:155331:155331:72.6417:350:36.8433:0.2:1.2:0.95"},
    StandIn{"pde100", "gen:pde:100"},
    StandIn{"pde50", "gen:pde:50"},
    StandIn{"pde60", "gen:pde:60"},
    StandIn{"pde80", "gen:pde:80"},
    StandIn{"pde90", "gen:pde:90"},
    StandIn{"QCD/conf5_4-8x8-05", "gen:twin:49152:49152:39:0:0:0.4:1.2:0.9"},
    StandIn{"Sandia/ASIC_680k", "gen:twin:682862:682862:3.86461:480:102275:0.1:0.7:0.5"},
    StandIn{"Schenk/nlpkkt120", "gen:fem:152:1"},
    StandIn{"Schenk/nlpkkt80", "gen:fem:102:1"},
    StandIn{"Schenk_AFE/af_1_k101", "gen:twin:503625:503625:34.8487:1.3:0.00434171:0.002:1.6:0.9"},
    StandIn{"Schenk_AFE/af_2_k101", "gen:twin:503625:503625:34.8487:1.3:0.00434171:0.002:1.6:0.9"},
    StandIn{"Schenk_AFE/af_3_k101", "gen:twin:503625:503625:34.8487:1.3:0.00434171:0.002:1.6:0.9"},
    StandIn{"Schenk_AFE/af_4_k101", "gen:twin:503625:503625:34.8487:1.3:0.00434171:0.002:1.6:0.9"},
    StandIn{"Schenk_AFE/af_5_k101", "gen:twin:503625:503625:34.8487:1.3:0.00434171:0.002:1.6:0.9"},
    StandIn{"Schmid/thermal1", "gen:twin:82654:82654:6.95015:0.9:0.582699:0.3:0.25:0.3"},
    StandIn{"Schmid/thermal2", "gen:twin:1228045:1228045:6.98697:0.8:0.574359:0.3:0.25:0.3"},
    StandIn{"Simon/olafu", "gen:twin:16146:16146:62.8735:10.3:0.41554:0.03:1.75:0.93"},
    StandIn{"Simon/raefsky2", "gen:twin:3242:3242:90.7699:19.5:0.189822:0.1:1.8:0.95"},
    StandIn{"SNAP/amazon0312", "gen:twin:400727:400727:7.98658:3.07:0.2521:0.3:0.3:0.2"},
    StandIn{"TSOPF/TSOPF_RS_b2383", "gen:twin:38120:38120:424.217:484.238:1.31721:0.48326:1.9799:0.92741"},
    StandIn{"VanVelzen/Zd_Jac2", "gen:twin:22835:22835:71.9436:140:62.244:0.5:0.8:0.6"},
    StandIn{"Vavasis/av41092", "gen:twin:41092:41092:40.9788:167:51.1001:0.4:1:0.6"},
    StandIn{"wbp128", "gen:twin:16384:16384:240.057:33.608:0.0664131:0.5:1:0.7"},
    StandIn{"wbp256", "gen:twin:65536:65536:479.339:71.9008:0.0681386:0.5:1:0.7"},
    StandIn{"Williams/cant", "gen:twin:62451:62451:64.1684:14.0563:0.21555:0.0086:1.61575:0.91473"},
    StandIn{"Williams/consph", "gen:twin:83334:83334:72.1252:19.0802:0.12305:0.05:1.7:0.93"},
    StandIn{"Williams/cop20k_A", "gen:twin:121192:121192:21.6543:13.7927:2.74059:0.62306:1.09583:0.6334"},
    StandIn{"Williams/mac_econ_fwd500", "gen:twin:206500:206500:6.16653:4.43586:6.13529:0.00191:0.17669:0.33051"},
    StandIn{"Williams/mc2depi", "gen:twin:525825:525825:3.99415:0.07632:0.00146:0.00134:0.4983:0.99891"},
    StandIn{"Williams/pdb1HYS", "gen:twin:36417:36417:119.306:31.8604:0.70989:0.12994:1.83776:0.93173"},
    StandIn{"Williams/webbase-1M", "gen:twin:1000005:1000005:3.10552:25.3452:1512.43:0.15246:0.31568:0.9361"}};

}  // namespace

std::string_view stand_in_of(const PaperMatrix& matrix) {
  const auto name = matrix.suitesparse.empty() ? matrix.name : matrix.suitesparse;
  const auto* const at =
      std::find_if(stand_ins.begin(), stand_ins.end(), [&](const StandIn& one) { return one.matrix == name; });
  return at == stand_ins.end() ? std::string_view{} : at->source;
}

}  // namespace autospmv::tools
